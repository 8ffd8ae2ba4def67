// SPDX-License-Identifier: Apache-2.0
//
// PortsOfRanks: TCP ports at which ranks of this node will listen, and which the kernel does not
// assign to other sockets. A port is reserved while its socket is open.
#pragma once

#include <vector>

#include "sys/unique_fd.hpp"

namespace batchai::launcher {

class PortsOfRanks {
  public:
    // For rank 0. Returns 0 if none is found.
    int reserve_master() { return reserve(); }
    // One for each local rank; fewer if no more are found.
    std::vector<int> reserve_workers(int count);
    // Frees all ports for the ranks.
    void release() { sockets_.clear(); }

  private:
    int reserve();

    std::vector<sys::UniqueFd> sockets_;
};

}  // namespace batchai::launcher

// SPDX-License-Identifier: Apache-2.0
//
// Peers: whether the other ranks of this node are alive.
#pragma once

#include <poll.h>

#include <optional>
#include <vector>

#include "sys/unique_fd.hpp"

namespace batchai::coll {

class Peers {
  public:
    // pids: of the node's ranks. Ranks that are threads of this process are not watched.
    explicit Peers(const std::vector<int>& pids);

    // A local rank whose process has ended.
    std::optional<int> ended();

  private:
    struct Peer {
        int rank;
        int pid;
        sys::UniqueFd fd;  // none where the kernel has no pidfd: then the pid is asked for
        bool ended = false;
    };
    std::vector<Peer> peers_;
};

}  // namespace batchai::coll

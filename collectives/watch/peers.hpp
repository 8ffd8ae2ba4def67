// SPDX-License-Identifier: Apache-2.0
//
// Peers: whether the other ranks of this node are alive.
#pragma once

#include <poll.h>

#include <optional>
#include <string>
#include <vector>

#include "sys/unique_fd.hpp"

namespace batchai::coll {

class Peers {
  public:
    // pids: of the node's ranks. Ranks that are threads of this process are not watched.
    explicit Peers(const std::vector<int>& pids);

    // Adds descriptors with which poll() returns when one of the ranks ends.
    void add_to(std::vector<pollfd>& list) const;
    // A local rank whose process has ended. Each rank is returned once.
    std::optional<int> ended();

  private:
    struct Peer {
        int rank;
        int pid;
        sys::UniqueFd fd;  // none if the kernel has no pidfd: then the pid is checked
        bool ended = false;
    };
    static bool has_ended(const Peer& peer);

    std::vector<Peer> peers_;
};

// "T", "D", …: the process's state in /proc; empty: it cannot be read.
std::string process_state(int pid);

}  // namespace batchai::coll

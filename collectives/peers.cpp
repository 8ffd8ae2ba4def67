// SPDX-License-Identifier: Apache-2.0
#include "collectives/peers.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace batchai::coll {

Peers::Peers(const std::vector<int>& pids) {
    for (int r = 0; r < static_cast<int>(pids.size()); ++r) {
        if (pids[r] == ::getpid()) continue;
        Peer peer{r, pids[r],
                  sys::UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pids[r], 0)))};
        peer.ended = !peer.fd && errno == ESRCH;
        peers_.push_back(std::move(peer));
    }
}

// A pidfd also tells of a process that has ended and that nobody has waited for yet.
std::optional<int> Peers::ended() {
    for (Peer& peer : peers_) {
        if (peer.ended) return peer.rank;
        if (peer.fd) {
            pollfd poll{peer.fd.get(), POLLIN, 0};
            peer.ended = ::poll(&poll, 1, 0) == 1;
        } else {
            peer.ended = ::kill(peer.pid, 0) != 0 && errno == ESRCH;
        }
        if (peer.ended) return peer.rank;
    }
    return std::nullopt;
}

}  // namespace batchai::coll

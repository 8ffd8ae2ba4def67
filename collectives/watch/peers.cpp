// SPDX-License-Identifier: Apache-2.0
#include "collectives/watch/peers.hpp"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>

namespace batchai::coll {

Peers::Peers(const std::vector<int>& pids) {
    for (int r = 0; r < static_cast<int>(pids.size()); ++r) {
        if (pids[r] == ::getpid()) continue;
        peers_.push_back(
            {r, pids[r], sys::UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pids[r], 0)))});
    }
}

void Peers::add_to(std::vector<pollfd>& list) const {
    for (const Peer& peer : peers_) {
        if (peer.fd && !peer.ended) list.push_back({peer.fd.get(), POLLIN, 0});
    }
}

// A pidfd also reports a process that has ended but has not been reaped yet.
bool Peers::has_ended(const Peer& peer) {
    if (!peer.fd) return ::kill(peer.pid, 0) != 0 && errno == ESRCH;
    pollfd poll{peer.fd.get(), POLLIN, 0};
    return ::poll(&poll, 1, 0) == 1;
}

std::optional<int> Peers::ended() {
    for (Peer& peer : peers_) {
        if (peer.ended || !has_ended(peer)) continue;
        peer.ended = true;
        return peer.rank;
    }
    return std::nullopt;
}

// The state comes after the program's name. The name is in parentheses and may contain some.
std::string process_state(int pid) {
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const std::size_t end = text.rfind(") ");
    return end == std::string::npos ? "" : text.substr(end + 2, 1);
}

}  // namespace batchai::coll

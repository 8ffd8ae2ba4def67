// SPDX-License-Identifier: Apache-2.0
#include "collectives/comm/handover.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace batchai::coll {
namespace {

struct Address {
    sockaddr_un bytes{};
    socklen_t size = 0;

    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

// The end of a job's name is what tells it from others. A leading zero byte makes it abstract.
Address address_of(const std::string& job, unsigned rank) {
    constexpr std::size_t kMost = 64;
    const std::string text = fmt::format(
        "batchai.coll.{}.{}", job.substr(job.size() - std::min(job.size(), kMost)), rank);
    Address address;
    address.bytes.sun_family = AF_UNIX;
    std::memcpy(address.bytes.sun_path + 1, text.data(), text.size());
    address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
    return address;
}

sys::UniqueFd make_socket() {
    return sys::UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// The process that listens at the other end; 0 if that is another user's, who could listen at any
// name.
pid_t listener(int connection) {
    ucred peer{};
    socklen_t size = sizeof peer;
    const bool known = ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
    return known && peer.uid == ::geteuid() ? peer.pid : 0;
}

bool has_ended(pid_t process) {
    return ::kill(process, 0) != 0 && errno == ESRCH;
}

}  // namespace

sys::UniqueFd announce_leaving(const std::string& job, unsigned rank) {
    const Address address = address_of(job, rank);
    sys::UniqueFd door = make_socket();
    if (!door || ::bind(door.get(), address.get(), address.size) != 0 ||
        ::listen(door.get(), SOMAXCONN) != 0) {
        return {};
    }
    return door;
}

sys::Result<void> await_leaving(const std::string& job, unsigned rank,
                                std::chrono::milliseconds limit) {
    using Clock = std::chrono::steady_clock;
    constexpr int kLookAgain =
        20;  // milliseconds, for a process that has left its socket to a child
    const Address address = address_of(job, rank);
    const sys::UniqueFd visitor = make_socket();
    // A socket of ours always has room for a connection.
    if (::connect(visitor.get(), address.get(), address.size) != 0) return {};
    const pid_t process = listener(visitor.get());
    if (process == 0) return {};
    const auto deadline = Clock::now() + limit;
    // The other process never accepts: the connection ends with its socket.
    pollfd end{visitor.get(), POLLIN, 0};
    while (::poll(&end, 1, kLookAgain) <= 0 && !has_ended(process)) {
        if (Clock::now() < deadline) continue;
        return sys::Error{fmt::format(
            "process {}, an earlier program of rank {}, still runs {} s after it has left the "
            "library: a rank "
            "runs its programs one after the other",
            process, rank, std::chrono::duration_cast<std::chrono::seconds>(limit).count())};
    }
    return {};
}

}  // namespace batchai::coll

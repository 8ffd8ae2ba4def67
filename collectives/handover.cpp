// SPDX-License-Identifier: Apache-2.0
#include "collectives/handover.hpp"

#include <fmt/format.h>
#include <poll.h>
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
    return sys::UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

// Any user could listen at the name.
bool is_ours(int connection) {
    ucred peer{};
    socklen_t size = sizeof peer;
    return ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           peer.uid == ::geteuid();
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

void await_leaving(const std::string& job, unsigned rank) {
    const Address address = address_of(job, rank);
    const sys::UniqueFd visitor = make_socket();
    int status = 0;
    do {
        status = ::connect(visitor.get(), address.get(), address.size);
    } while (status != 0 && errno == EINTR);
    if (status != 0 || !is_ours(visitor.get())) return;
    // The other process never accepts: the connection ends with the door.
    pollfd end{visitor.get(), POLLIN, 0};
    while (::poll(&end, 1, -1) < 0 && errno == EINTR) {
    }
}

}  // namespace batchai::coll

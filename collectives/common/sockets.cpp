// SPDX-License-Identifier: Apache-2.0
#include "collectives/common/sockets.hpp"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

namespace batchai::coll {
namespace {

// Calls `with` for each descriptor of the process.
template <class With>
void for_descriptors(With with) {
    const std::unique_ptr<DIR, int (*)(DIR*)> list(::opendir("/proc/self/fd"), ::closedir);
    while (const dirent* entry = list == nullptr ? nullptr : ::readdir(list.get())) {
        with(static_cast<int>(std::strtol(entry->d_name, nullptr, 10)));
    }
}

// Finds both ends of an IPv4 connection. False: the descriptor is not one.
bool ends_of(int fd, sockaddr_in& local, sockaddr_in& peer) {
    socklen_t length = sizeof peer;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) != 0 ||
        peer.sin_family != AF_INET) {
        return false;
    }
    length = sizeof local;
    return ::getsockname(fd, reinterpret_cast<sockaddr*>(&local), &length) == 0;
}

// Whether data was sent again and is still not acknowledged.
bool is_stuck(int fd) {
    tcp_info info{};
    socklen_t length = sizeof info;
    return ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 && info.tcpi_unacked > 0 &&
           info.tcpi_retransmits > 0;
}

bool has(const std::vector<std::uint16_t>& ports, in_port_t port) {
    return std::find(ports.begin(), ports.end(), ntohs(port)) != ports.end();
}

}  // namespace

std::vector<std::uint16_t> listening_ports() {
    std::vector<std::uint16_t> ports;
    for_descriptors([&](int fd) {
        int listens = 0;
        socklen_t length = sizeof listens;
        sockaddr_in local{};
        socklen_t room = sizeof local;
        if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 && listens != 0 &&
            ::getsockname(fd, reinterpret_cast<sockaddr*>(&local), &room) == 0 &&
            local.sin_family == AF_INET) {
            ports.push_back(ntohs(local.sin_port));
        }
    });
    return ports;
}

void set_patience(int socket, std::chrono::milliseconds limit) {
    const auto patience = static_cast<unsigned>(limit.count());
    ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience, sizeof patience);
}

Sockets::Sockets(std::vector<std::uint16_t> own, std::vector<Listeners> others,
                 std::chrono::milliseconds limit)
    : own_(std::move(own)), others_(std::move(others)), limit_(limit) {
    for (std::size_t node = 0; node < others_.size(); ++node) {
        for (const std::string& address : others_[node].addresses) {
            in_addr parsed{};
            if (::inet_pton(AF_INET, address.c_str(), &parsed) != 1) continue;
            nodes_.emplace(parsed.s_addr, static_cast<int>(node));
        }
    }
}

std::optional<int> Sockets::silent_node(Time now) {
    if (limit_.count() == 0 || nodes_.empty() || now < look_at_) return std::nullopt;
    look_at_ = now + limit_ / 10;
    std::optional<int> silent;
    for_descriptors([&](int fd) {
        if (const auto node = examine(fd, now)) silent = node;
    });
    return silent;
}

// The kernel sends lost data again after a fifth of a second.
std::optional<int> Sockets::examine(int fd, Time now) {
    sockaddr_in local{}, peer{};
    if (!ends_of(fd, local, peer)) return std::nullopt;
    const auto found = nodes_.find(peer.sin_addr.s_addr);
    if (found == nodes_.end()) return std::nullopt;
    const int node = found->second;
    if (!has(own_, local.sin_port) && !has(others_[node].ports, peer.sin_port)) return std::nullopt;
    set_patience(fd, limit_);
    if (!is_stuck(fd)) {
        stuck_.erase(fd);
        return std::nullopt;
    }
    Stuck& stuck = stuck_[fd];
    if (stuck.port != local.sin_port) stuck = {local.sin_port, now};
    if (now - stuck.since < limit_ * 7 / 10) return std::nullopt;
    return node;
}

}  // namespace batchai::coll

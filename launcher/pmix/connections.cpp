// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "launcher/pmix/workarounds.hpp"
#include "sys/tcp_owner.hpp"

namespace batchai::launcher::pmix {
namespace {

// 0: the descriptor is not a socket, or the kernel does not number sockets.
std::uint64_t cookie_of(int fd) {
    std::uint64_t cookie = 0;
    socklen_t size = sizeof cookie;
    return ::getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &size) == 0 ? cookie : 0;
}

class Connections {
  public:
    // A socket without a number is not remembered, because it could not be distinguished from a
    // later one. Linux 4.12 and newer number all sockets.
    void add(int fd) {
        const std::uint64_t cookie = cookie_of(fd);
        const std::lock_guard lock(mutex_);
        all_.erase(fd);
        if (cookie != 0) all_[fd] = {cookie, ticks_since_boot(), std::nullopt, {}, {}};
    }

    bool contains(int fd) {
        const std::lock_guard lock(mutex_);
        return find(fd) != nullptr;
    }

    void name(int fd, std::uint32_t rank) {
        const std::lock_guard lock(mutex_);
        if (const auto found = all_.find(fd); found != all_.end()) found->second.rank = rank;
    }

    // key: the descriptor; value: when it was accepted
    std::map<int, std::uint64_t> of_rank(std::uint32_t rank) {
        const std::lock_guard lock(mutex_);
        forget_closed();
        std::map<int, std::uint64_t> found;
        for (const auto& [fd, connection] : all_) {
            if (connection.rank == rank) found[fd] = connection.accepted;
        }
        return found;
    }

    // The following take any descriptor of this program.
    void on_greeting(int fd, const char* bytes, std::size_t size) {
        const std::lock_guard lock(mutex_);
        if (Connection* one = find(fd)) one->messages.on_greeting(bytes, size);
    }

    void on_read(int fd, char* bytes, std::size_t size) {
        const std::lock_guard lock(mutex_);
        if (Connection* one = find(fd)) one->messages.on_read(bytes, size);
    }

    // Writes another message if the client would misread this one. The library calls it again with
    // the same message until it is written as a whole. Nothing: the message is right.
    std::optional<ssize_t> write(int fd, const iovec* parts, int count) {
        const std::lock_guard lock(mutex_);
        Connection* one = find(fd);
        if (one == nullptr || count != 2) return std::nullopt;
        if (one->unsent.empty()) {
            one->unsent = one->messages.instead_of(
                {static_cast<const char*>(parts[0].iov_base), parts[0].iov_len},
                {static_cast<const char*>(parts[1].iov_base), parts[1].iov_len});
            if (one->unsent.empty()) return std::nullopt;
        }
        const ssize_t sent = ::send(fd, one->unsent.data(), one->unsent.size(), MSG_NOSIGNAL);
        if (sent < 0) return sent;
        one->unsent.erase(0, static_cast<std::size_t>(sent));
        if (one->unsent.empty()) return static_cast<ssize_t>(parts[0].iov_len + parts[1].iov_len);
        errno = EAGAIN;
        return -1;
    }

    std::vector<std::uint64_t> unheard() {
        const std::lock_guard lock(mutex_);
        forget_closed();
        std::vector<pollfd> polled;
        polled.reserve(all_.size());
        for (const auto& [fd, connection] : all_) polled.push_back({fd, POLLRDHUP, 0});
        ::poll(polled.data(), polled.size(), 0);
        std::vector<std::uint64_t> found;
        for (const pollfd& one : polled) {
            if (one.revents != 0) found.push_back(all_.at(one.fd).cookie);
        }
        return found;
    }

  private:
    struct Connection {
        std::uint64_t cookie = 0;
        std::uint64_t accepted = 0;         // clock ticks since boot
        std::optional<std::uint32_t> rank;  // once the library has read the first message
        ClientMessages messages;
        std::string unsent;  // of a message that is written instead of the library's
    };

    Connection* find(int fd) {
        const auto found = all_.find(fd);
        if (found == all_.end() || cookie_of(fd) != found->second.cookie) return nullptr;
        return &found->second;
    }

    // The library has closed a socket if its descriptor is free or belongs to another socket.
    void forget_closed() {
        std::erase_if(all_, [](const auto& c) { return cookie_of(c.first) != c.second.cookie; });
    }

    std::mutex mutex_;
    std::unordered_map<int, Connection> all_;  // key: the descriptor
};

Connections& connections() {
    static Connections all;
    return all;
}

thread_local int greeted = -1;  // the connection of the last call of recv()

}  // namespace
}  // namespace batchai::launcher::pmix

extern "C" __attribute__((visibility("default"))) int accept(int listener, sockaddr* address,
                                                             socklen_t* size) {
    const int socket = ::accept4(listener, address, size, 0);
    if (socket < 0) return socket;
    int family = AF_UNSPEC;
    socklen_t family_size = sizeof family;
    ::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &family_size);
    if (family == AF_UNIX) return socket;
    if (batchai::sys::is_own_peer(socket)) {
        batchai::launcher::pmix::connections().add(socket);
        return socket;
    }
    ::close(socket);
    errno = EAGAIN;  // after this error alone, libpmix 4.2 and 5.0 both continue to listen
    return -1;
}

extern "C" __attribute__((visibility("default"))) ssize_t read(int fd, void* bytes, size_t size) {
    const ssize_t got = ::syscall(SYS_read, fd, bytes, size);
    if (got <= 0) return got;
    batchai::launcher::pmix::connections().on_read(fd, static_cast<char*>(bytes),
                                                   static_cast<std::size_t>(got));
    return got;
}

extern "C" __attribute__((visibility("default"))) ssize_t recv(int fd, void* bytes, size_t size,
                                                               int flags) {
    using namespace batchai::launcher::pmix;
    if (connections().contains(fd)) greeted = fd;
    const ssize_t got = ::recvfrom(fd, bytes, size, flags, nullptr, nullptr);
    if (got > 0) {
        connections().on_greeting(fd, static_cast<char*>(bytes), static_cast<std::size_t>(got));
    }
    return got;
}

extern "C" __attribute__((visibility("default"))) ssize_t writev(int fd, const iovec* parts,
                                                                 int count) {
    const auto written = batchai::launcher::pmix::connections().write(fd, parts, count);
    return written ? *written : ::syscall(SYS_writev, fd, parts, count);
}

namespace batchai::launcher::pmix {

bool accept_is_guarded() {
    return ::dlsym(RTLD_DEFAULT, "accept") == reinterpret_cast<void*>(&::accept) &&
           ::dlsym(RTLD_DEFAULT, "read") == reinterpret_cast<void*>(&::read) &&
           ::dlsym(RTLD_DEFAULT, "recv") == reinterpret_cast<void*>(&::recv) &&
           ::dlsym(RTLD_DEFAULT, "writev") == reinterpret_cast<void*>(&::writev);
}

void name_connection(std::uint32_t rank) {
    connections().name(greeted, rank);
}

std::vector<OpenSocket> connections_of(std::uint32_t rank) {
    std::vector<OpenSocket> found;
    for (const auto& [fd, accepted] : connections().of_rank(rank)) {
        const auto inode = sys::tcp_inode(fd, sys::End::other);  // calls recv()
        if (inode) found.push_back({*inode, accepted});
    }
    return found;
}

std::vector<std::uint64_t> unheard_connections() {
    return connections().unheard();
}

}  // namespace batchai::launcher::pmix

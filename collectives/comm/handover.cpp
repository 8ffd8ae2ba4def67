// SPDX-License-Identifier: Apache-2.0
#include "collectives/comm/handover.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

namespace batchai::coll {
namespace {

struct Address {
    sockaddr_un bytes{};
    socklen_t size = 0;

    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

// The end of a job's name distinguishes it from other jobs. A leading zero byte makes the address
// abstract.
Address address_of(const std::string& job, unsigned rank, const char* suffix = "") {
    constexpr std::size_t kMost = 64;
    const std::string text = fmt::format(
        "batchai.coll.{}.{}{}", job.substr(job.size() - std::min(job.size(), kMost)), rank, suffix);
    Address address;
    address.bytes.sun_family = AF_UNIX;
    std::memcpy(address.bytes.sun_path + 1, text.data(), text.size());
    address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
    return address;
}

sys::UniqueFd make_socket() {
    return sys::UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

RankSocket listen_at(const Address& address) {
    sys::UniqueFd listener = make_socket();
    if (!listener || ::bind(listener.get(), address.get(), address.size) != 0 ||
        ::listen(listener.get(), SOMAXCONN) != 0) {
        return {};
    }
    return RankSocket(std::move(listener));
}

// The process that listens at the other end. 0 if it belongs to another user, because any user can
// listen at any abstract name.
pid_t listening_process(int connection) {
    ucred peer{};
    socklen_t size = sizeof peer;
    const bool known = ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
    return known && peer.uid == ::geteuid() ? peer.pid : 0;
}

bool has_ended(pid_t process) {
    return ::kill(process, 0) != 0 && errno == ESRCH;
}

// The descriptors of all RankSockets, which a child of fork() must not keep.
class Descriptors {
  public:
    // Never destroyed: a socket may be closed while the process exits.
    static Descriptors& get() {
        static Descriptors& all = *new Descriptors;
        return all;
    }
    void add(int fd) {
        const std::lock_guard lock(mutex_);
        all_.insert(fd);
    }
    // Call it before the descriptor is closed and its number is used again.
    void remove(int fd) {
        const std::lock_guard lock(mutex_);
        all_.erase(fd);
    }

  private:
    Descriptors() {
        ::pthread_atfork([] { get().mutex_.lock(); }, [] { get().mutex_.unlock(); },
                         [] {
                             get().give_up();
                             get().mutex_.unlock();
                         });
    }
    // In a child: replaces the descriptors by other sockets. The child's copies of our objects may
    // still close them.
    void give_up() const {
        for (const int fd : all_) {
            const sys::UniqueFd other = make_socket();
            ::dup3(other.get(), fd, O_CLOEXEC);
        }
    }

    std::mutex mutex_;
    std::set<int> all_;
};

}  // namespace

RankSocket::RankSocket(sys::UniqueFd socket) : socket_(std::move(socket)) {
    if (socket_) Descriptors::get().add(socket_.get());
}

RankSocket& RankSocket::operator=(RankSocket&& other) noexcept {
    release();
    socket_ = other.release();
    if (socket_) Descriptors::get().add(socket_.get());
    return *this;
}

sys::UniqueFd RankSocket::release() {
    if (socket_) Descriptors::get().remove(socket_.get());
    return std::move(socket_);
}

sys::Result<RankSocket> claim_rank(const std::string& job, unsigned rank,
                                   std::chrono::milliseconds limit) {
    constexpr int kTries = 100;  // milliseconds between another process's bind() and listen()
    const Address address = address_of(job, rank, ".process");
    bool waited = false;
    for (int tries = 0; tries < kTries; ++tries) {
        if (RankSocket own = listen_at(address)) return own;
        const sys::UniqueFd connection = make_socket();
        if (::connect(connection.get(), address.get(), address.size) != 0) {
            ::usleep(1000);
            continue;
        }
        const pid_t process = listening_process(connection.get());
        if (process == 0 || has_ended(process)) break;
        if (waited) {
            return sys::Error{fmt::format(
                "process {} is rank {} of this job already: a rank is one process at a time. Start "
                "as many ranks as processes, or run the programs of a rank one after the other",
                process, rank)};
        }
        if (auto left = await_leaving(job, rank, limit); !left) return left.error();
        waited = true;
    }
    return RankSocket();
}

RankSocket announce_leaving(const std::string& job, unsigned rank) {
    return listen_at(address_of(job, rank));
}

sys::Result<void> await_leaving(const std::string& job, unsigned rank,
                                std::chrono::milliseconds limit) {
    using Clock = std::chrono::steady_clock;
    // Milliseconds. A child that was not made by fork() may still hold the socket of an ended
    // process.
    constexpr int kLookAgain = 20;
    const Address address = address_of(job, rank);
    const sys::UniqueFd connection = make_socket();
    // The queue of a RankSocket always has room for a connection.
    if (::connect(connection.get(), address.get(), address.size) != 0) return {};
    const pid_t process = listening_process(connection.get());
    if (process == 0) return {};
    const auto deadline = Clock::now() + limit;
    // The other process never accepts; the connection ends when its socket is closed.
    pollfd end{connection.get(), POLLIN, 0};
    while (::poll(&end, 1, kLookAgain) <= 0 && !has_ended(process)) {
        if (Clock::now() < deadline) continue;
        return sys::Error{fmt::format(
            "process {}, an earlier program of rank {}, still runs {} s after it left the library: "
            "a rank must run its programs one after the other",
            process, rank, std::chrono::duration_cast<std::chrono::seconds>(limit).count())};
    }
    return {};
}

}  // namespace batchai::coll

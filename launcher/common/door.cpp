// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/door.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <thread>

namespace batchai::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kConnect{2000};
constexpr int kRounds = 5;

}  // namespace

// ---- listening ----------------------------------------------------------------------------------

Door::Door(Loop& loop, const TlsKey& key, std::vector<Listener> listeners,
           std::function<void(Link)> on_arrival, milliseconds patience)
    : loop_(loop), key_(key), on_arrival_(std::move(on_arrival)), patience_(patience) {
    for (Listener& listener : listeners) {
        acceptors_.push_back(std::make_unique<Acceptor>(
            loop, std::move(listener), [this](sys::UniqueFd socket) { admit(std::move(socket)); },
            [this] { return close_oldest(); }));
    }
}

void Door::admit(sys::UniqueFd socket) {
    if (strangers_.size() == kStrangers) close_oldest();
    strangers_.push_back({Tls(key_, Tls::Role::answers, socket.get()), nullptr, nullptr});
    const auto stranger = std::prev(strangers_.end());
    stranger->socket =
        std::make_unique<Poll>(loop_, std::move(socket), [this, stranger](int) { hear(stranger); });
    stranger->patience =
        std::make_unique<Timer>(loop_, [this, stranger] { strangers_.erase(stranger); });
    stranger->patience->start(patience_);
}

void Door::hear(std::list<Stranger>::iterator stranger) {
    const Tls::Io io = stranger->tls.shake_hands();
    if (io == Tls::Io::later) return;
    if (io != Tls::Io::done) return (void)strangers_.erase(stranger);
    Link link{stranger->socket->release(), std::move(stranger->tls)};
    strangers_.erase(stranger);  // also its Poll, before another socket gets the same descriptor
    on_arrival_(std::move(link));
}

bool Door::close_oldest() {
    if (strangers_.empty()) return false;
    strangers_.pop_front();
    return true;
}

// ---- connecting ---------------------------------------------------------------------------------

namespace {

// Whether the socket becomes ready before the deadline.
bool wait_for(int socket, short events, steady_clock::time_point deadline) {
    pollfd wait{socket, events, 0};
    for (;;) {
        const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now()).count();
        const int ready = ::poll(&wait, 1, static_cast<int>(std::max(left, decltype(left){0})));
        if (ready >= 0 || errno != EINTR) return ready > 0;
    }
}

sys::Result<sys::UniqueFd> connect_socket(const Endpoint& endpoint) {
    const auto address = socket_address(endpoint);
    if (!address) return sys::Error{"not an address"};
    sys::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return sys::errno_error("socket");
    const auto generic = reinterpret_cast<const sockaddr*>(&*address);
    if (::connect(socket.get(), generic, sizeof *address) == 0) return socket;
    if (errno != EINPROGRESS) return sys::Error{std::strerror(errno)};
    if (!wait_for(socket.get(), POLLOUT, steady_clock::now() + kConnect)) {
        return sys::Error{"no answer"};
    }
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return sys::Error{std::strerror(error)};
    return socket;
}

sys::Result<Link> call(const Endpoint& endpoint, const TlsKey& key) {
    auto socket = connect_socket(endpoint);
    if (!socket) return socket.error();
    const int fd = socket->get();
    Link link{std::move(*socket), Tls(key, Tls::Role::calls, fd)};
    const auto deadline = steady_clock::now() + Door::kPatience;
    while (true) {
        switch (link.tls.shake_hands()) {
            case Tls::Io::done:
                return link;
            case Tls::Io::later:
                if (!wait_for(fd, POLLIN, deadline)) return sys::Error{"no answer"};
                break;
            case Tls::Io::over:
                return sys::Error{"the other end has closed the connection"};
            case Tls::Io::refused:
                return sys::Error{
                    "another program answers on this port: it does not know the job's key"};
        }
    }
}

}  // namespace

sys::Result<Link> connect_to(const std::vector<Endpoint>& endpoints, const TlsKey& key) {
    sys::Error last{"no address to call"};
    for (int round = 0; round < kRounds; ++round) {
        if (round > 0) std::this_thread::sleep_for(milliseconds(50 << round));
        for (const Endpoint& endpoint : endpoints) {
            auto link = call(endpoint, key);
            if (link) return link;
            last = link.error().in(text_of(endpoint));
        }
    }
    return last;
}

}  // namespace batchai::launcher

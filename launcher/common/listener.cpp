// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/listener.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "sys/tcp_owner.hpp"

namespace batchai::launcher {

sys::Result<Listener> listen_at(const std::string& at, const std::string& users) {
    Listener listener{
        sys::UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), {at, 0}};
    auto address = socket_address(listener.endpoint);
    if (!address) return sys::Error{at + ": not an IPv4 address"};
    socklen_t size = sizeof *address;
    const auto generic = reinterpret_cast<sockaddr*>(&*address);
    if (!listener.socket || ::bind(listener.socket.get(), generic, size) != 0 ||
        ::listen(listener.socket.get(), SOMAXCONN) != 0 ||
        ::getsockname(listener.socket.get(), generic, &size) != 0) {
        return sys::errno_error("opening a port at " + at + " for " + users);
    }
    listener.endpoint.port = ntohs(address->sin_port);
    return listener;
}

Acceptor::Acceptor(Loop& loop, Listener listener, std::function<void(sys::UniqueFd)> on_connection,
                   std::function<bool()> make_room)
    : on_connection_(std::move(on_connection)),
      make_room_(std::move(make_room)),
      poll_(loop, std::move(listener.socket), [this](int) { accept(); }),
      pause_(loop, [this] { poll_.start(); }) {}

void Acceptor::accept() {
    constexpr std::chrono::milliseconds kPause{100};
    sys::UniqueFd socket(::accept4(poll_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) return on_connection_(std::move(socket));
    const bool no_room = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    if (!no_room || make_room_()) return;
    // The caller stays in the kernel's queue. Without a pause the loop would call this again at
    // once, and use a whole core.
    poll_.stop();
    pause_.start(kPause);
}

OwnPort::OwnPort(Loop& loop, Listener listener, std::function<void(sys::UniqueFd)> on_connection)
    : number_(listener.endpoint.port),
      acceptor_(loop, std::move(listener),
                [on_connection = std::move(on_connection)](sys::UniqueFd fd) {
                    if (sys::is_own_peer(fd.get())) on_connection(std::move(fd));
                }) {}

sys::Result<std::unique_ptr<OwnPort>> OwnPort::listen(
    Loop& loop, const std::string& users, std::function<void(sys::UniqueFd)> on_connection) {
    auto listener = listen_at("127.0.0.1", users);
    if (!listener) return listener.error();
    return std::unique_ptr<OwnPort>(
        new OwnPort(loop, std::move(*listener), std::move(on_connection)));
}

}  // namespace batchai::launcher

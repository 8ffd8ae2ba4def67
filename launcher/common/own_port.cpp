// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/own_port.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <utility>

#include "sys/tcp_owner.hpp"

namespace batchai::launcher {

OwnPort::OwnPort(Loop& loop, sys::UniqueFd fd, int number,
                 std::function<void(sys::UniqueFd)> on_connection)
    : on_connection_(std::move(on_connection)),
      number_(number),
      poll_(loop, std::move(fd), [this](int) { accept(); }) {}

sys::Result<std::unique_ptr<OwnPort>> OwnPort::listen(
    Loop& loop, const std::string& purpose, std::function<void(sys::UniqueFd)> on_connection) {
    sys::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    if (!fd || ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), size) != 0 ||
        ::listen(fd.get(), SOMAXCONN) != 0 ||
        ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&at), &size) != 0) {
        return sys::errno_error("listening at 127.0.0.1 for " + purpose);
    }
    return std::unique_ptr<OwnPort>(
        new OwnPort(loop, std::move(fd), ntohs(at.sin_port), std::move(on_connection)));
}

void OwnPort::accept() {
    sys::UniqueFd fd(::accept4(poll_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd && sys::is_own_peer(fd.get())) on_connection_(std::move(fd));
}

}  // namespace batchai::launcher

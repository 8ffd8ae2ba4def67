// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/own_port.hpp"

#include <utility>

#include "sys/tcp_owner.hpp"

namespace batchai::launcher {

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

// SPDX-License-Identifier: Apache-2.0
//
// OwnPort: a port at 127.0.0.1 for processes of the same user, for protocols without client
// authentication. It closes a connection at once unless a process of this user holds its other end.
// For the loop's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "launcher/common/event_loop.hpp"
#include "launcher/common/listener.hpp"
#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::launcher {

class OwnPort {
  public:
    // The callback owns the connection, a non-blocking socket. users: see listen_at().
    static sys::Result<std::unique_ptr<OwnPort>> listen(
        Loop& loop, const std::string& users, std::function<void(sys::UniqueFd)> on_connection);

    int number() const { return number_; }

  private:
    OwnPort(Loop& loop, Listener listener, std::function<void(sys::UniqueFd)> on_connection);

    int number_;
    Acceptor acceptor_;
};

}  // namespace batchai::launcher

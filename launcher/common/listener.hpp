// SPDX-License-Identifier: Apache-2.0
//
// Listener: a listening TCP socket. Acceptor: accepts its connections, on the loop's thread. It
// does not check who connects: Door and OwnPort do.
//
// OwnPort: a port at 127.0.0.1 for processes of the same user, for protocols without client
// authentication. It closes a connection at once unless a process of this user holds its other end.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "launcher/common/event_loop.hpp"
#include "launcher/common/interfaces.hpp"
#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::launcher {

struct Listener {
    sys::UniqueFd socket;
    Endpoint endpoint;
};
// Listens at a free port of this address of this machine only. users: for the error, the programs
// that connect to it.
sys::Result<Listener> listen_at(const std::string& address, const std::string& users);

class Acceptor {
  public:
    // on_connection owns the connection, a non-blocking socket. It must not destroy the Acceptor.
    // make_room is called when the process has no free descriptors. It returns true if it has
    // closed one. Otherwise the Acceptor pauses.
    Acceptor(
        Loop& loop, Listener listener, std::function<void(sys::UniqueFd)> on_connection,
        std::function<bool()> make_room = [] { return false; });

  private:
    void accept();

    std::function<void(sys::UniqueFd)> on_connection_;
    std::function<bool()> make_room_;
    Poll poll_;
    Timer pause_;
};

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

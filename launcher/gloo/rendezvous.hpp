// SPDX-License-Identifier: Apache-2.0
//
// Rendezvous: the HTTP server at which the ranks of Horovod's own Gloo on one node ask for each
// other's values, in place of horovodrun's. It passes each request to KeyValues at the root. If no
// rank uses it, it costs one socket.
//
// The protocol cannot authenticate a client, so the server listens at an OwnPort. It keeps at most
// kMostConnections at once, and each for at most half a minute.
//
// It belongs to the loop's thread.
#pragma once

#include <uv.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "launcher/common/event_loop.hpp"
#include "launcher/common/own_port.hpp"
#include "launcher/gloo/key_values.hpp"
#include "sys/result.hpp"

namespace batchai::launcher::gloo {

class Rendezvous {
  public:
    // One for each rank of a node, and less than an agent may have descriptors: 1024 by default.
    static constexpr std::size_t kMostConnections = 512;

    // Asks for the answer to a request, which answer() takes later or never.
    using Ask = std::function<void(std::uint64_t id, const Request&)>;

    static sys::Result<std::unique_ptr<Rendezvous>> listen(Loop& loop, Ask ask);
    Rendezvous(const Rendezvous&) = delete;
    Rendezvous& operator=(const Rendezvous&) = delete;
    ~Rendezvous();

    int port() const { return port_->number(); }
    // The whole answer. Not from within Ask.
    void answer(std::uint64_t id, std::string text);

  private:
    struct Connection;
    Rendezvous(Loop& loop, Ask ask);
    void serve(sys::UniqueFd connection);
    void close_old();

    Loop& loop_;
    Ask ask_;
    std::map<std::uint64_t, std::unique_ptr<Connection>> connections_;
    std::uint64_t next_id_ = 0;
    Timer sweep_;
    std::unique_ptr<OwnPort> port_;
};

}  // namespace batchai::launcher::gloo

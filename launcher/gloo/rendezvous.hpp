// SPDX-License-Identifier: Apache-2.0
//
// Rendezvous: the HTTP server of one node at which the ranks of Horovod's own Gloo ask for each
// other's values. It replaces horovodrun's server and passes each request to KeyValues at the root.
// If no rank uses it, it costs one socket.
//
// The protocol cannot authenticate a client, so the server listens at an OwnPort. It keeps at most
// kMostConnections connections, each for at most half a minute.
//
// Only the event loop's thread calls it.
#pragma once

#include <uv.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "launcher/common/event_loop.hpp"
#include "launcher/common/listener.hpp"
#include "launcher/gloo/key_values.hpp"
#include "sys/result.hpp"

namespace batchai::launcher::gloo {

class Rendezvous {
  public:
    // Enough for each rank of a node, and below an agent's usual limit of 1024 descriptors.
    static constexpr std::size_t kMostConnections = 512;

    // Asks for the answer to a request. answer() is called with the id later, or never.
    using Ask = std::function<void(std::uint64_t id, const Request&)>;

    static sys::Result<std::unique_ptr<Rendezvous>> listen(Loop& loop, Ask ask);
    Rendezvous(const Rendezvous&) = delete;
    Rendezvous& operator=(const Rendezvous&) = delete;
    ~Rendezvous();

    int port() const { return port_->number(); }
    // text: the complete HTTP answer. Must not be called from within Ask.
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

// SPDX-License-Identifier: Apache-2.0
//
// Door: the listening TCP sockets of the root, and of an agent with children in the tree.
// connect_to() connects to a Door. A Door returns a connection (Link) only after each end has shown
// that it knows the job's key.
//
// Any process that reaches a port can connect to it. Until it has shown that it knows the job's key
// it is a stranger. A Door keeps at most kStrangers strangers, each for at most kPatience, and
// reads only their handshake. To accept one more, it closes the oldest. If that was a process of
// the job, the process connects again.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "launcher/common/event_loop.hpp"
#include "launcher/common/interfaces.hpp"
#include "launcher/common/listener.hpp"
#include "launcher/common/tls.hpp"

namespace batchai::launcher {

class Door {
  public:
    static constexpr std::size_t kStrangers = 256;
    static constexpr std::chrono::seconds kPatience{5};

    // on_arrival receives each connection whose other end knows the key. It must not destroy the
    // Door. The key must outlive the Door.
    Door(Loop& loop, const TlsKey& key, std::vector<Listener> listeners,
         std::function<void(Link)> on_arrival, std::chrono::milliseconds patience = kPatience);

    std::size_t strangers() const { return strangers_.size(); }

  private:
    struct Stranger {
        Tls tls;
        std::unique_ptr<Poll> socket;
        std::unique_ptr<Timer> patience;
    };
    void admit(sys::UniqueFd socket);
    void hear(std::list<Stranger>::iterator stranger);
    bool close_oldest();  // false: there are no strangers

    Loop& loop_;
    const TlsKey& key_;
    std::function<void(Link)> on_arrival_;
    std::chrono::milliseconds patience_;
    std::list<Stranger> strangers_;  // the oldest first
    std::vector<std::unique_ptr<Acceptor>> acceptors_;
};

// Connects to the first endpoint that answers and knows the key. It tries each a few times. It
// blocks, for seconds if no endpoint answers.
sys::Result<Link> connect_to(const std::vector<Endpoint>& endpoints, const TlsKey& key);

}  // namespace batchai::launcher

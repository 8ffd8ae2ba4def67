// SPDX-License-Identifier: Apache-2.0
//
// Door: the listening TCP sockets at which the root, or an agent with children in the tree, waits
// for the job's other processes. connect_to() connects to a Door. A Door hands on a connection
// (Link) only after both ends have shown that they know the job's key.
//
// Any process that reaches a port can connect to it. A caller is a stranger until it has shown that
// it knows the job's key. A Door keeps at most kStrangers of them, each for at most kPatience, and
// reads only their handshake. When one more comes, the Door closes the oldest one. If that was a
// process of the job, it connects again.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "launcher/common/event_loop.hpp"
#include "launcher/common/interfaces.hpp"
#include "launcher/common/tls.hpp"

namespace batchai::launcher {

struct Listener {
    sys::UniqueFd socket;
    Endpoint endpoint;
};
// A port at this address of ours, and only there.
sys::Result<Listener> listen_at(const std::string& address);

class Door {
  public:
    static constexpr std::size_t kStrangers = 256;
    static constexpr std::chrono::seconds kPatience{5};

    // on_arrival gets each connection whose other end knows the key; it may not destroy the Door.
    // The key outlives the Door.
    Door(Loop& loop, const TlsKey& key, std::vector<Listener> listeners,
         std::function<void(Link)> on_arrival, std::chrono::milliseconds patience = kPatience);

    std::size_t strangers() const { return strangers_.size(); }

  private:
    struct Stranger {
        Tls tls;
        std::unique_ptr<Poll> socket;
        std::unique_ptr<Timer> patience;
    };
    void accept(int listener);
    void hear(std::list<Stranger>::iterator stranger);
    void rest();

    Loop& loop_;
    const TlsKey& key_;
    std::function<void(Link)> on_arrival_;
    std::chrono::milliseconds patience_;
    std::list<Stranger> strangers_;  // the oldest first
    std::vector<std::unique_ptr<Poll>> listeners_;
    Timer rest_;
};

// Connects to the first of them that answers and knows the key, and tries each a few times. Waits:
// for seconds where none does.
sys::Result<Link> connect_to(const std::vector<Endpoint>& endpoints, const TlsKey& key);

}  // namespace batchai::launcher

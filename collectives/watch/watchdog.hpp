// SPDX-License-Identifier: Apache-2.0
//
// Watchdog: a thread of each rank that watches the other ranks, whatever its own rank is doing. It
// writes failures to the node's memory, where the engines of all local ranks find them. It sees
//   - a local process end, at once;
//   - a local process stand still, by a counter of each rank's watchdog in the node's memory;
//   - other nodes acknowledge nothing (sockets.hpp);
//   - on the first rank of a node: the same of the neighbouring nodes' first ranks, and nodes that
//     do not answer (neighbourhood.hpp), and the failures that other nodes have seen.
// The watchdog of a rank that computes runs: only a process that is stopped, or gets no processor
// at all, stands still.
//
// The communicator of the job has one; communicators of some of its ranks use its reports. It
// sleeps nearly always. It takes no signals.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "collectives/common/sockets.hpp"
#include "collectives/transport/shm.hpp"
#include "collectives/watch/neighbourhood.hpp"
#include "collectives/watch/peers.hpp"

namespace batchai::coll {

class Watchdog {
  public:
    // roster and node: have to stay. neighbours: on the first rank of a node.
    static sys::Result<std::unique_ptr<Watchdog>> start(const Roster& roster, Node& node,
                                                        const Limits& limits,
                                                        std::vector<Neighbour> neighbours,
                                                        Sockets sockets);
    // Ends the thread. A failure has been reported to the neighbours by then.
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    // Tells it to look at the node's memory. Any thread.
    void wake();

  private:
    using Clock = std::chrono::steady_clock;
    using Time = Clock::time_point;

    Watchdog(const Roster& roster, Node& node, const Limits& limits,
             std::vector<Neighbour> neighbours, Sockets sockets, sys::UniqueFd bell);
    void run();
    void sleep();
    void look(Time now);
    void tell();
    std::optional<Failure> look_here(Time now);
    std::string stall_of(int local) const;

    const Roster& roster_;
    Node& node_;
    Limits limits_;
    Peers peers_;
    Heartbeats heartbeats_;
    Neighbourhood neighbourhood_;
    Sockets sockets_;
    bool told_ = false;  // the neighbours know of the failure
    std::uint64_t beats_ = 0;
    std::vector<pollfd> polled_;  // keeps its memory

    sys::UniqueFd bell_;  // an eventfd
    std::atomic<bool> ending_{false};
    int process_;
    std::unique_ptr<std::thread> thread_;
};

}  // namespace batchai::coll

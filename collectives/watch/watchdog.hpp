// SPDX-License-Identifier: Apache-2.0
//
// Watchdog: a thread of each rank that watches the other ranks, whatever its own rank is doing. It
// writes failures to the node's memory, where the engines of all local ranks find them. It detects
//   - the end of a local process, at once;
//   - a local process that does not run, by the beats of its watchdog in the node's memory;
//   - other nodes that acknowledge nothing (sockets.hpp);
//   - on the first rank of a node: a first rank of a neighbouring node that has ended or does not
//     run, a node that does not answer, and failures that other nodes report (neighbourhood.hpp).
// A watchdog runs even while its rank computes. It stops only if the process is stopped, or gets no
// processor at all.
//
// The job's communicator has a watchdog; communicators of some of its ranks use its reports. It
// sleeps almost always. It handles no signals.
#pragma once

#include <poll.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "collectives/common/sockets.hpp"
#include "collectives/transport/shm.hpp"
#include "collectives/watch/neighbourhood.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::coll {

// Peers: whether the other ranks of this node are alive.
class Peers {
  public:
    // pids: of the node's ranks. Ranks that are threads of this process are not watched.
    explicit Peers(const std::vector<int>& pids);

    // Adds descriptors with which poll() returns when one of the ranks ends.
    void add_to(std::vector<pollfd>& list) const;
    // A local rank whose process has ended. Each rank is returned once.
    std::optional<int> ended();

  private:
    struct Peer {
        int rank;
        int pid;
        sys::UniqueFd fd;  // none if the kernel has no pidfd: then the pid is checked
        bool ended = false;
    };
    static bool has_ended(const Peer& peer);

    std::vector<Peer> peers_;
};

// "T", "D", …: the process's state in /proc; empty: it cannot be read.
std::string process_state(int pid);

class Watchdog {
  public:
    // roster and node: must outlive the watchdog. neighbours: only on the first rank of a node.
    static sys::Result<std::unique_ptr<Watchdog>> start(const Roster& roster, Node& node,
                                                        const Limits& limits,
                                                        std::vector<Neighbour> neighbours,
                                                        Sockets sockets);
    // Ends the thread, after a failure was reported to the neighbours.
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    // Wakes the watchdog to check the node's memory. Any thread may call it.
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
    bool told_ = false;  // the failure was reported to the neighbours
    std::uint64_t beats_ = 0;
    std::vector<pollfd> polled_;  // reused, to avoid allocations

    sys::UniqueFd bell_;  // an eventfd
    std::atomic<bool> ending_{false};
    int process_;
    std::unique_ptr<std::thread> thread_;
};

}  // namespace batchai::coll

// SPDX-License-Identifier: Apache-2.0
//
// Neighbourhood: the watchdog's connections to the next and the previous node, on the first rank of
// each node. Together they are a ring. A failure that one node knows goes around the ring in both
// directions, so that it passes a node that is gone.
//
// A machine's kernel acknowledges messages even if the process is stopped. So beats that are not
// acknowledged mean that the node or a cable is gone, which is noticed soon. Beats that do not
// arrive mean that the process is stopped, which is an error only after the stall limit.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <list>
#include <optional>
#include <vector>

#include "collectives/common/topology.hpp"
#include "collectives/watch/limits.hpp"
#include "collectives/watch/pulse.hpp"
#include "collectives/watch/rendezvous.hpp"

namespace batchai::coll {

// Heartbeats: finds peers whose counters have not grown for too long. Pure: the caller passes
// the time.
//
// A process that was stopped itself, or whose machine was suspended, cannot judge the others. It
// calls forgive(), which restarts all times.
class Heartbeats {
  public:
    using Time = std::chrono::steady_clock::time_point;

    // limit: 0: none.
    Heartbeats(std::size_t count, std::chrono::milliseconds limit, Time now)
        : limit_(limit), others_(count, {0, now}) {}

    void see(std::size_t who, std::uint64_t beats, Time now) {
        if (others_[who].beats == beats) return;
        others_[who] = {beats, now};
    }
    bool silent(std::size_t who, Time now) const {
        return limit_.count() > 0 && now - others_[who].since >= limit_;
    }
    void forgive(Time now) {
        for (Other& other : others_) other.since = now;
    }

  private:
    struct Other {
        std::uint64_t beats;
        Time since;
    };
    std::chrono::milliseconds limit_;
    std::vector<Other> others_;
};

class Neighbourhood {
  public:
    using Time = Heartbeats::Time;

    // roster: must outlive this object.
    Neighbourhood(const Roster& roster, const Limits& limits, std::vector<Neighbour> neighbours,
                  Time now);

    // Adds its descriptors for poll().
    void add_to(std::vector<pollfd>& list) const;
    // Reads new messages and sends beats that are due. Returns a failure that other nodes have
    // reported, or the failure of a neighbour.
    std::optional<Failure> step(Time now);
    void tell(const Failure& failure);
    void forgive(Time now) { heartbeats_.forgive(now); }
    // Waits, at most 200 ms, until the neighbours have received all reports.
    void close();

  private:
    struct Side {
        Side(int of, sys::UniqueFd fd) : node(of), pulse(std::move(fd)) {}
        int node;
        Pulse pulse;
        std::optional<Time> ended;
        bool reported = false;
    };
    std::optional<Failure> examine(Side& side, std::size_t index, Time now);

    const Roster& roster_;
    Limits limits_;
    std::list<Side> sides_;
    Heartbeats heartbeats_;
    Time beat_at_;
};

}  // namespace batchai::coll

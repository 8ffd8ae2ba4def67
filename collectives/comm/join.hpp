// SPDX-License-Identifier: Apache-2.0
//
// Join: how ranks become a communicator. They find each other, open their node's memory, connect
// their wires and watchdogs, measure the links and agree. Each step waits for the other ranks.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/algorithm/operation.hpp"
#include "collectives/comm/bootstrap.hpp"
#include "collectives/transport/link.hpp"
#include "collectives/transport/ucx.hpp"
#include "collectives/watch/watchdog.hpp"

namespace batchai::coll {

// What ranks have together once they have joined.
struct Joined {
    Roster roster;
    std::chrono::milliseconds timeout{0};
    Planner planner;
    std::unique_ptr<Node> node;
    std::optional<Reader> reader;   // none if a rank cannot read another one, or on several nodes
    std::unique_ptr<UcxWire> wire;  // null with one node, and on ranks without a rail
    // Only of the job's communicator.
    Limits limits;
    std::optional<FaultPoint> fault;
    std::unique_ptr<Watchdog> watchdog;
};

class Join {
  public:
    // is_job: all ranks of the job join. made: must stay where it is.
    Join(Bootstrap& bootstrap, bool is_job, Joined& made)
        : bootstrap_(bootstrap), is_job_(is_job), made_(made), topology_(made.roster.topology) {}

    // Collective: an error on one rank is an error on all.
    sys::Result<void> run();

  private:
    sys::Result<void> find_others();
    sys::Result<void> prepare();
    sys::Result<void> prepare_watch();
    sys::Result<void> accept_cards();
    void meet_rails();
    sys::Result<std::vector<Invitation>> invitations() const;
    sys::Result<std::vector<Listeners>> listeners_of(
        const std::vector<Invitation>& invitations) const;
    sys::Result<void> start_watch();
    sys::Result<void> agree(const sys::Result<void>& own);
    std::size_t node_bytes(bool slow) const;
    void use(Segment memory);

    Bootstrap& bootstrap_;
    const bool is_job_;
    Joined& made_;
    const Topology& topology_;  // made_'s
    bool one_host_ = true;
    Invitation invitation_;                 // this node's
    std::optional<Rendezvous> rendezvous_;  // until the watchdogs have met
    bool may_read_ = true;                  // the user's wish
    const Algorithm* algorithm_ = nullptr;  // always used; null: the planner chooses
    std::optional<Link> link_;  // measured by this rank, later replaced by the median of all ranks
};

}  // namespace batchai::coll

// SPDX-License-Identifier: Apache-2.0
//
// Spawning: starts further jobs for ranks of the launch, one at a time. It places a job on slots
// that no live rank has, tells all agents, and lets them start its ranks when all are ready. If
// there are too few free slots or an agent is not ready, the rank that has asked gets an error.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launcher/common/jobs.hpp"
#include "launcher/common/message.hpp"
#include "launcher/root/nodes.hpp"
#include "launcher/root/outcome.hpp"
#include "sys/result.hpp"

namespace batchai::launcher {

// Places the ranks of the order: node by node, or one on each node in turn. slots: of each node.
// ended: by number, the ranks of `launch` that have left their slot.
sys::Result<Job> place(const SpawnJob& order, const RankMap& launch, const std::vector<int>& slots,
                       const std::function<bool(int rank)>& ended);

class Spawning {
  public:
    Spawning(Nodes& nodes, Jobs& jobs, Outcome& outcome)
        : nodes_(nodes), jobs_(jobs), outcome_(outcome) {}

    // slots: the number of ranks for which each node has room.
    void begin(std::vector<int> slots) { slots_ = std::move(slots); }
    // The launch ends: it starts no more jobs.
    void stop() { stopped_ = true; }

    void on_order(int node, SpawnJob order);
    void on_ready(int node, const JobReady& ready);
    // The agent of a node is gone, none of whose ranks ran: the node gets no more ranks.
    void on_lost(int node);
    // A rank has ended: tells the rank that has started its job, if that wants to know.
    void on_rank_end(int rank);
    // Jobs that the agents were told to start, with the first one.
    int started() const { return static_cast<int>(jobs_.list().size()) - (under_way_ ? 1 : 0); }

  private:
    struct Order {
        int node;  // of the rank that has asked
        SpawnJob job;
    };
    void next();
    void conclude();
    void reply(const Order& order, SpawnReply::Status status, const std::string& why) const;

    Nodes& nodes_;
    Jobs& jobs_;
    Outcome& outcome_;
    std::vector<int> slots_;
    std::set<int> tell_end_;  // jobs, by their first rank
    bool stopped_ = false;
    std::deque<Order> waiting_;
    std::optional<Order> under_way_;
    std::set<int> unanswered_;  // nodes
    std::string failure_;
};

}  // namespace batchai::launcher

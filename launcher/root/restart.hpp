// SPDX-License-Identifier: Apache-2.0
//
// Restarts: runs the job, and runs it again after a failure that another attempt may cure. Each
// attempt is a new job with new agents, on the remaining nodes. Only the ranks' files remain of the
// last attempt. Standard input is not passed on, because the next attempt would miss the input that
// the last one has read.
//
// Requeue: requeues a batch job in Slurm after an end for a reason that the user has named, so that
// it continues from its checkpoint. A job that its user has cancelled is not requeued.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/common/allocation.hpp"
#include "launcher/root/outcome.hpp"

namespace batchai::launcher {

struct Session;
struct SessionResult;

struct Restarts {
    int most = 0;
    std::optional<int> min_nodes;  // lost nodes are left out if so many nodes remain
};

// Returns the last attempt's result. Each attempt has printed its own report.
SessionResult run_with_restarts(Session session, const Restarts& restarts);

// The allocation without the lost nodes, or unchanged if too few nodes would remain.
Allocation without_nodes(const Allocation& allocation, const std::vector<std::string>& lost,
                         const Restarts& restarts);

struct RequeuePolicy {
    std::vector<std::string> on;  // signal, node-fail, failure; empty: never
    int most = 3;
};

// Checks before the job starts whether Slurm can requeue it. Warns about output that the job's
// script would then overwrite.
sys::Result<void> check_requeue(const RequeuePolicy& policy, const Allocation& allocation);

// Whether the policy names this cause.
bool is_named(const RequeuePolicy& policy, Cause cause);

// Call it after the job's end. True: Slurm has requeued the job, at our request or another one, and
// will end what is left of it. It prints what it does, or why it does not.
bool requeue(const RequeuePolicy& policy, const Allocation& allocation, Cause cause);

}  // namespace batchai::launcher

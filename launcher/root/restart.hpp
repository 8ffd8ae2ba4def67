// SPDX-License-Identifier: Apache-2.0
//
// Restarts: runs the job, and runs it again after a failure that another attempt may cure. Each
// attempt is a new job with new agents, on the remaining nodes. Only the ranks' files remain of the
// last attempt. Standard input is not passed on, because the next attempt would miss the input that
// the last one has read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/common/allocation.hpp"

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

}  // namespace batchai::launcher

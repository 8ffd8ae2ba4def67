// SPDX-License-Identifier: Apache-2.0
//
// Restarts: runs the job, and runs it again after a failure that a new attempt may cure. Every
// attempt is a new job with new agents, on the nodes that are left; only the files of the ranks
// remain from the last attempt. It does not pass standard input on, because input that one attempt
// has read would be missing in the next.
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
    std::optional<int> min_nodes;  // lost nodes are left out as long as so many remain
};

// The last attempt's result; each has reported its own.
SessionResult run_with_restarts(Session session, const Restarts& restarts);

// The allocation without the lost nodes, or as it is where too few would remain.
Allocation without_nodes(const Allocation& allocation, const std::vector<std::string>& lost,
                         const Restarts& restarts);

}  // namespace batchai::launcher

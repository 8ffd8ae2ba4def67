// SPDX-License-Identifier: Apache-2.0
//
// Starts the agents: one srun for all nodes of an allocation, or, with --local, one child process
// each. The bootstrap goes through standard input.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "launcher/common/allocation.hpp"
#include "launcher/common/bootstrap.hpp"
#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::launcher {

// A child of the root: srun, or a local agent.
struct Starter {
    pid_t pid = -1;
    std::string name;      // for messages
    sys::UniqueFd errors;  // its standard error: what srun, or the agents themselves, have to say
};

sys::Result<std::vector<Starter>> start_agents(const Allocation& allocation, Bootstrap bootstrap);

// Removes what agents that were killed have left on the nodes, those that answer soon.
void sweep_nodes(const Allocation& allocation);

// The environment for srun: without the variables that srun takes for options and that were meant
// for the user's own job step.
env::Environment srun_environment(env::Environment environment);

}  // namespace batchai::launcher

// SPDX-License-Identifier: Apache-2.0
//
// Starts the agents: with one srun for all nodes of an allocation, or, with --local, as a child
// process each. The bootstrap is passed on standard input.
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
    sys::UniqueFd errors;  // its standard error, with the text of srun or the agents
};

sys::Result<std::vector<Starter>> start_agents(const Allocation& allocation, Bootstrap bootstrap);

// Removes leftovers of killed agents from the nodes that answer in time.
void sweep_nodes(const Allocation& allocation);

// The environment of this process; in a heterogeneous job, reduced to the allocation's component.
env::Environment environment_of_job(const Allocation& allocation);

// The environment for srun, without variables that srun would take for options and that the user
// meant for the job's own steps.
env::Environment srun_environment(env::Environment environment);

}  // namespace batchai::launcher

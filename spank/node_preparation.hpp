// SPDX-License-Identifier: Apache-2.0
//
// Runs the job preparation from a task (task_init): batchai-prep runs once on each node of a job.
// In a batch job it runs on all nodes before the script. A failure ends the task (failure.hpp).
#pragma once

#include "spank/options.hpp"
#include "spank/state.hpp"

namespace batchai::spank {

// Called in the batch script's task. Starts one step over all nodes. The plugin sets up and
// prepares the step's tasks like any others; the step's own command does nothing.
void prepare_all_nodes(const slurm::Task&, const Site&, const State&, int seconds);

// Prepares this node. If another task prepares it, waits for that task; if the node is prepared,
// returns.
void prepare_node(const slurm::Task&, const Site&, const State&, const Once&, int seconds);

}  // namespace batchai::spank

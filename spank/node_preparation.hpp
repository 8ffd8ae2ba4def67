// SPDX-License-Identifier: Apache-2.0
//
// Job preparation from a task's place (task_init): batchai-prep is run once on each node of a job,
// and in a batch job on all of them before the script. A failure ends the task (failure.hpp).
#pragma once

#include "spank/once.hpp"
#include "spank/options.hpp"
#include "spank/state.hpp"

namespace batchai::spank {

// From the batch script's task: one step over all nodes, whose tasks the plugin enters and prepares
// as any others; the step itself does nothing.
void prepare_all_nodes(const slurm::Task&, const Site&, const State&, int seconds);

// Prepares this node unless that is done, or waits for the task that is at it.
void prepare_node(const slurm::Task&, const Site&, const State&, const Once&, int seconds);

}  // namespace batchai::spank

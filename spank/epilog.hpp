// SPDX-License-Identifier: Apache-2.0
//
// What has no task: the end of a job on a node, and the start of slurmd. Neither ever fails: Slurm
// would drain the node. What could not be removed in time is removed in the background.
#pragma once

#include "spank/options.hpp"

namespace batchai::spank {

// job_epilog. A job that never used the plugin: one failing open().
void end_job(slurm::Handle, const Site&);

// init in slurmd: removes what jobs left whose end was interrupted, and logs version and policy.
void sweep(const Site&);

}  // namespace batchai::spank

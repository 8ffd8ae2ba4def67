// SPDX-License-Identifier: Apache-2.0
//
// The plugin's work outside of tasks: the start and the end of a job on a node, and the start of
// slurmd. No call fails or takes longer than Slurm's PrologEpilogTimeout, because Slurm would drain
// the node. A background process removes what takes too long.
#pragma once

#include "spank/options.hpp"

namespace batchai::spank {

// Called in job_epilog. For a job that never used the plugin it costs one open().
void end_job(slurm::Handle, const Site&);

// Called in job_prolog. Continues interrupted ends of jobs in the background, if there are any and
// no process does it: it may have been killed.
void continue_ends(const Site&);

// Called in init of slurmd. Finishes interrupted ends of jobs, and logs version and policy.
void sweep(const Site&);

}  // namespace batchai::spank

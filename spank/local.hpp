// SPDX-License-Identifier: Apache-2.0
//
// The plugin in srun, sbatch and salloc: checks the options before a submission, and has
// batchai-check make a snapshot of the job file.
//
// These programs may run inside a job, whose environment has the job's options. A step of that job
// needs the options. Another job, or a step of another job, must not get them.
#pragma once

#include "spank/options.hpp"

namespace batchai::spank {

// Called in init of srun, sbatch and salloc, before Slurm takes options from the environment.
void forget_submission(bool allocator);

// Called in local_user_init of srun, when the job of the step is known.
void forget_other_job(slurm::Handle);

// Called in init_post_opt of srun, sbatch and salloc. False: the submission must stop, and the user
// has the message. allocator: sbatch or salloc, else srun.
bool check_submission(slurm::Handle, const Site&, bool allocator);

}  // namespace batchai::spank

// SPDX-License-Identifier: Apache-2.0
//
// The side of srun, sbatch and salloc: the options are checked before anything is submitted, and a
// snapshot of the job file is made, by batchai-check.
//
// These may be run inside a job, whose environment has the job's options. A step of the job needs
// them; another job, or a step of one, must not get them.
#pragma once

#include "spank/options.hpp"

namespace batchai::spank {

// init in srun, sbatch and salloc, before Slurm takes options from the environment.
void forget_submission(bool allocator);

// local_user_init in srun, which knows by now which job the step is of.
void forget_other_job(slurm::Handle);

// init_post_opt in srun, sbatch and salloc. Returns false when the submission must not go on; the
// user has been told then. allocator: sbatch or salloc, else srun.
bool check_submission(slurm::Handle, const Site&, bool allocator);

}  // namespace batchai::spank

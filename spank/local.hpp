// SPDX-License-Identifier: Apache-2.0
//
// The login node's side: the options are checked before anything is submitted, and a snapshot of
// the job file is made, by batchai-check.
#pragma once

#include "spank/options.hpp"

namespace batchai::spank {

// init_post_opt in srun, sbatch and salloc. Returns false when the submission must not go on; the
// user has been told then. allocator: sbatch or salloc, else srun.
bool check_submission(slurm::Handle, const Site&, bool allocator);

}  // namespace batchai::spank

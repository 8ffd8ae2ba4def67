// SPDX-License-Identifier: Apache-2.0
//
// Which jobs asked for something, on each of their nodes: an empty file CLUSTER-NUMBER of the job's
// user in kAskedDirectory, made by the job's prolog and removed by its epilog. A step from a shell
// that knows nothing of the job's options ("srun --jobid" after "salloc --no-shell", a second
// terminal) learns from it that a node without a state is one that was not prepared.
//
// The note says that, and nothing of the options: Slurm may run no prolog for a job whose number
// slurmd still knows, so a note can be an older job's, and must not set anything up.
#pragma once

#include "spank/options.hpp"

namespace batchai::spank {

// job_prolog. Never fails: Slurm would drain the node.
void note_options(slurm::Handle);

// As root. True: this user's job has a note on this node.
bool asked(const slurm::Task&);

// job_epilog.
void forget_options(uint32_t job);

}  // namespace batchai::spank

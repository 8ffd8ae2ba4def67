// SPDX-License-Identifier: Apache-2.0
//
// Notes about the jobs that have --batchai-* options, on each of their nodes. A note is an empty
// file CLUSTER-NUMBER in kAskedDirectory that belongs to the job's user. The job's prolog makes it,
// its epilog removes it. It serves a step from a shell that does not know the job's options ("srun
// --jobid" after "salloc --no-shell", a second terminal). If such a step finds a note and no state,
// the node is not prepared.
//
// The note does not hold the options and must not set anything up: it can be an older job's,
// because Slurm may run no prolog for a job whose number slurmd still knows.
#pragma once

#include "spank/options.hpp"

namespace batchai::spank {

// Called in job_prolog. Never fails, because Slurm would drain the node.
void note_options(slurm::Handle);

// True: this user's job has a note on this node. Call as root.
bool asked(const slurm::Task&);

// Called in job_epilog.
void forget_options(uint32_t job);

}  // namespace batchai::spank

// SPDX-License-Identifier: Apache-2.0
//
// The parts of the plugin that plugin.cpp calls, one for each kind of program that loads it.
#pragma once

#include "spank/options.hpp"

namespace batchai::spank {

// local.cpp: the plugin in srun, sbatch and salloc. It checks the options before a submission, and
// has batchai-check make a snapshot of the job file.
//
// These programs may run inside a job, whose environment has the job's options. A step of that job
// needs the options. Another job, or a step of another job, must not get them.

// Called in init of srun, sbatch and salloc, before Slurm takes options from the environment.
void forget_submission(bool allocator);

// Called in local_user_init of srun, when the job of the step is known.
void forget_other_job(slurm::Handle);

// Called in init_post_opt of srun, sbatch and salloc. False: the submission must stop, and the user
// has the message. allocator: sbatch or salloc, else srun.
bool check_submission(slurm::Handle, const Site&, bool allocator);

// remote.cpp: the plugin on a node. A task of a job enters the job's mount namespace, which the
// job's first task makes. The task starts only if the job's preparation succeeded.
//
// Both functions run in the task's own process between fork and exec. A failure prints one line in
// task_init and ends that process. This fails the job and leaves the node in service, whether
// plugstack.conf says required or optional. A job without --batchai-* options costs one failing
// open() and lstat().

// Called in task_init_privileged, as root. Makes the mounts (batchai-helper setup) and enters the
// namespace.
void enter_job(slurm::Handle, const Site&);

// Called in task_init, as the user. Prepares the node (batchai-prep) and sets the task's
// environment. In the batch script of a job on several nodes it first has all nodes prepared,
// unless the policy's prepare is first-step.
void prepare_job(slurm::Handle, const Site&);

// epilog.cpp: the plugin's work outside of tasks, at the start and the end of a job on a node, and
// at the start of slurmd. No call fails or takes longer than Slurm's PrologEpilogTimeout, because
// Slurm would drain the node. A background process removes what takes too long.

// Called in job_epilog. For a job that never used the plugin it costs one open().
void end_job(slurm::Handle, const Site&);

// Called in job_prolog. Continues interrupted ends of jobs in the background, if there are any and
// no process does it: it may have been killed.
void continue_ends(const Site&);

// Called in init of slurmd. Finishes interrupted ends of jobs, and logs version and policy.
void sweep(const Site&);

// asked.cpp: notes about the jobs that have --batchai-* options, on each of their nodes. A note is
// an empty file CLUSTER-NUMBER in kAskedDirectory that belongs to the job's user. The job's prolog
// makes it, its epilog removes it. It serves a step from a shell that does not know the job's
// options ("srun --jobid" after "salloc --no-shell", a second terminal). If such a step finds a
// note and no state, the node is not prepared.
//
// The note does not hold the options and must not set anything up: it can be an older job's,
// because Slurm may run no prolog for a job whose number slurmd still knows.

// Called in job_prolog. Never fails, because Slurm would drain the node.
void note_options(slurm::Handle);

// True: this user's job has a note on this node. Call as root.
bool asked(const slurm::Task&);

// Called in job_epilog.
void forget_options(uint32_t job);

}  // namespace batchai::spank

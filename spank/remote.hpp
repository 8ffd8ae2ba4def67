// SPDX-License-Identifier: Apache-2.0
//
// The plugin on a node: a task of a job enters the job's mount namespace, which the job's first
// task makes. The task starts only if the job's preparation succeeded.
//
// Both functions run in the task's own process between fork and exec. A failure prints one line in
// task_init and ends that process. This fails the job and leaves the node in service, whether
// plugstack.conf says required or optional. A job without --batchai-* options costs one failing
// open() and lstat().
#pragma once

#include "spank/options.hpp"

namespace batchai::spank {

// Called in task_init_privileged, as root. Makes the mounts (batchai-helper setup) and enters the
// namespace.
void enter_job(slurm::Handle, const Site&);

// Called in task_init, as the user. Prepares the node (batchai-prep) and sets the task's
// environment. In the batch script of a job on several nodes it first has all nodes prepared,
// unless the policy's prepare is first-step.
void prepare_job(slurm::Handle, const Site&);

}  // namespace batchai::spank

// SPDX-License-Identifier: Apache-2.0
//
// The node's side: a task of a job enters the job's mount namespace, which the first one has made,
// and starts only where the job's preparation has succeeded.
//
// Called in the task's own process between fork and exec; a failure prints one line in task_init
// and ends that process, which fails the job without harm to the node whatever the plugin's line in
// plugstack.conf says. Jobs without our options: one failing open() and lstat().
#pragma once

#include "spank/options.hpp"

namespace batchai::spank {

// task_init_privileged, as root: mounts (batchai-helper setup) and enters the namespace.
void enter_job(slurm::Handle, const Site&);

// task_init, as the user: prepares the node (batchai-prep) and sets the task's environment. In the
// batch script of a job on many nodes it has all of them entered and prepared first, unless the
// policy prefers each at its first step.
void prepare_job(slurm::Handle, const Site&);

}  // namespace batchai::spank

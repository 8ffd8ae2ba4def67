// SPDX-License-Identifier: Apache-2.0
//
// Cgroups for the daemons of a job. They lie below the job's own cgroup, so Slurm's limits for the
// job hold for its daemons too. Slurm (proctrack/cgroup, task/cgroup) ends the processes in a
// step's cgroups, and the daemons outlive the step that started them. So in each hierarchy in which
// Slurm put us into a job's cgroup, the job's daemons get one beside its steps:
//   version 1: .../slurm_n1/uid_1000/job_17/batchai beside .../slurm_n1/uid_1000/job_17/step_0
//   version 2: .../slurmstepd.scope/job_17/batchai beside .../slurmstepd.scope/job_17/step_0
// Slurm cannot remove the job's cgroup while it contains ours. It ignores that, and remove_cgroup()
// removes both. Without Slurm's cgroups this file makes none.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "sys/result.hpp"

namespace batchai::spank {

// The directories for a job, from the texts of /proc/self/cgroup and /proc/self/mountinfo of a
// process of the job. Pure. An error if a hierarchy is not mounted: a daemon left in it would die
// with the step.
sys::Result<std::vector<std::string>> daemon_cgroups(std::string_view cgroups,
                                                     std::string_view mounts);

// Like daemon_cgroups(), for this process.
sys::Result<std::vector<std::string>> find_daemon_cgroups();

// The directories, beside those of all jobs, for the helper's children (child.hpp), which may be
// left behind in a file system that does not answer. They stay, and have no limits.
sys::Result<std::vector<std::string>> find_helper_cgroups();

// Makes the cgroup and moves the process into it. pid is its number in our PID namespace.
sys::Result<void> enter_cgroup(const std::string& directory, pid_t pid);

// Removes the cgroup when its last process has left it, and then Slurm's cgroups of the job and
// (version 1) of its user, if they are empty. Waits up to a second for the processes, and up to a
// second for Slurm's lock.
void remove_cgroup(const std::string& directory);

}  // namespace batchai::spank

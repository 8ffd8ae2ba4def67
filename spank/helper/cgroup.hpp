// SPDX-License-Identifier: Apache-2.0
//
// Where a daemon that outlives the step which started it is kept. Slurm (proctrack/cgroup,
// task/cgroup) ends every process in the cgroups of a step; so, in each hierarchy in which Slurm
// has put us into a job's cgroup, the job's daemons get one beside it:
//   version 1: .../slurm_n1/batchai_mini-17 beside .../slurm_n1/uid_1000/job_17
//   version 2: .../slurmstepd.scope/batchai_mini-17 beside .../slurmstepd.scope/job_17
// Without Slurm's cgroups: nothing.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "sys/result.hpp"

namespace batchai::spank {

// The directories for a job, by its directory's name, from the texts of /proc/self/cgroup and
// /proc/self/mountinfo. Pure. An error when a hierarchy is mounted nowhere: a daemon left in it
// would die with the step.
sys::Result<std::vector<std::string>> daemon_cgroups(std::string_view cgroups,
                                                     std::string_view mounts,
                                                     const std::string& job);

// The same, for this process.
sys::Result<std::vector<std::string>> find_daemon_cgroups(const std::string& job);

// Makes the cgroup and moves the process, as this process counts, into it.
sys::Result<void> enter_cgroup(const std::string& directory, pid_t pid);

// Removes the cgroup once the last process has left it, for which it waits a second.
void remove_cgroup(const std::string& directory);

}  // namespace batchai::spank

// SPDX-License-Identifier: Apache-2.0
//
// Cgroups for the daemons of a job, which outlive the step that started them. Slurm
// (proctrack/cgroup, task/cgroup) ends every process in a step's cgroups. So in each hierarchy in
// which Slurm put us into a job's cgroup, the job's daemons get one beside it:
//   version 1: .../slurm_n1/batchai_mini-17 beside .../slurm_n1/uid_1000/job_17
//   version 2: .../slurmstepd.scope/batchai_mini-17 beside .../slurmstepd.scope/job_17
// Without Slurm's cgroups it makes none.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "sys/result.hpp"

namespace batchai::spank {

// The directories for a job, named after its directory, from the texts of /proc/self/cgroup and
// /proc/self/mountinfo. Pure. An error if a hierarchy is not mounted: a daemon left in it would die
// with the step.
sys::Result<std::vector<std::string>> daemon_cgroups(std::string_view cgroups,
                                                     std::string_view mounts,
                                                     const std::string& job);

// Like daemon_cgroups(), for this process.
sys::Result<std::vector<std::string>> find_daemon_cgroups(const std::string& job);

// Makes the cgroup and moves the process into it. pid is its number in our PID namespace.
sys::Result<void> enter_cgroup(const std::string& directory, pid_t pid);

// Removes the cgroup when its last process has left it. Waits up to a second for that.
void remove_cgroup(const std::string& directory);

}  // namespace batchai::spank

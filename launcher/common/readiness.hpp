// SPDX-License-Identifier: Apache-2.0
//
// Readiness: whether the Slurm plugin has given a process its job's mounts. On a node with an
// active plugin, a task of a job with --batchai-* options starts only in these mounts and after the
// job preparation. On a node without it, Slurm starts the task all the same. The check looks at the
// mount root, because only root can mount it; the environment of a step may come from another node.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "launcher/common/environment.hpp"
#include "launcher/common/message.hpp"
#include "sys/result.hpp"

namespace batchai::launcher {

// True where this process is in the mounts of that Slurm job; each component of a heterogeneous job
// has its own (Allocation::node_job_id).
bool is_in_job_mounts(const std::string& job_id);

// The same, of the text of a /proc/PID/mountinfo.
bool shows_job_mounts(std::istream& mountinfo, const std::string& job_id);

// True when the job was submitted with --batchai-* options, as far as its environment says.
bool asks_for_mounts(const env::Environment&);

// An error that names the nodes without the mounts of that Slurm job, if asked is true or one of
// the nodes has them. Why they are missing no process of the user's can see.
sys::Result<void> check_readiness(const std::vector<Hello>& nodes, const std::string& job_id,
                                  bool asked);

}  // namespace batchai::launcher

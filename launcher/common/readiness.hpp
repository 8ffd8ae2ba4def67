// SPDX-License-Identifier: Apache-2.0
//
// Readiness: whether the Slurm plugin has given this process the job's mounts. On a node with an
// active plugin, a task of a job with --batchai-* options starts in these mounts, after the job
// preparation. On a node without it, Slurm starts the task all the same. The check looks for the
// mount root, which only root can mount. The step's environment is no proof, because it may come
// from another node.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "launcher/common/environment.hpp"
#include "launcher/common/message.hpp"
#include "sys/result.hpp"

namespace batchai::launcher {

// True if this process has the mounts of that Slurm job. Each component of a heterogeneous job has
// its own number (job::Number::own).
bool is_in_job_mounts(const std::string& job_id);

// The same for the text of a /proc/PID/mountinfo.
bool shows_job_mounts(std::istream& mountinfo, const std::string& job_id);

// Whether the job was submitted with --batchai-* options, by its environment.
bool asks_for_mounts(const env::Environment&);

// An error that names the nodes without the job's mounts, if `asked` is true or another node has
// them. A process of the user cannot see why they are missing.
sys::Result<void> check_readiness(const std::vector<Hello>& nodes, const std::string& job_id,
                                  bool asked);

}  // namespace batchai::launcher

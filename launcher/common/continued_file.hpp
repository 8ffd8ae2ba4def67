// SPDX-License-Identifier: Apache-2.0
//
// Appends the output of a requeued job to the files of its last run, with a line between the two.
#pragma once

#include <string>

#include "launcher/common/allocation.hpp"
#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::launcher {

// Opens a file for appending with sys::open_user_file, or makes it. If the file is not empty,
// writes `line` first, on a line of its own. An empty `line` writes nothing.
sys::Result<sys::UniqueFd> continue_file(const std::string& path, const std::string& line);

// The line for a job's script that starts batchai-launch a second time.
inline constexpr char kLaunchedAgain[] =
    "batchai-launch: the job is launched again: its output goes on here";

// The line for a launch whose output follows an earlier run's, because Slurm has requeued the job;
// else empty.
std::string line_of_requeued(const Allocation& allocation);

// Warns about each standard stream that the job's script has redirected with ">": its content is
// lost when Slurm runs the job again. The file of sbatch's --output is always opened for appending,
// and Slurm does not tell the job about --open-mode, so there is no warning about that file.
void warn_of_truncation();

}  // namespace batchai::launcher

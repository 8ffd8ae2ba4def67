// SPDX-License-Identifier: Apache-2.0
//
// Appends the output of a requeued job to the files of its last run. No output is lost, and a line
// marks the start of the next run.
#pragma once

#include <string>

#include "launcher/common/allocation.hpp"
#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::launcher {

// Opens a file for appending, or makes it, with sys::open_own. If something is in it already, the
// line comes first, on a line of its own; an empty one: nothing.
sys::Result<sys::UniqueFd> continue_file(int directory, const std::string& name,
                                         const std::string& line);

// That line where the job's script launches the job a second time.
inline constexpr char kLaunchedAgain[] =
    "batchai-launch: the job is launched again: its output goes on here";

// Why the output of this launch follows other output: the job runs again; or empty.
std::string line_of_requeued(const Allocation& allocation);

// A warning for each standard stream that the job's script has sent to a file with ">": what is in
// it is lost when Slurm runs the job again. The file of sbatch's --output is open for appending
// whatever --open-mode says, which Slurm tells no job: of that there is no warning.
void warn_of_truncation();

}  // namespace batchai::launcher

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/history/execution.hpp"
#include "cli/job/job_state.hpp"

namespace batchai::cli {

// The longest pause between two calls of squeue, in seconds.
inline constexpr double kWaitInterval = 15;

// Reports on stderr each change of the job's state until it ends. Returns its exit code, or 255 if
// it has none.
int wait_for_job(NamedJob&, double interval);

// Prints on stderr why a job failed, at the end of job wait, job show and job create --wait.
// Prints each error with its node, as az did. Below the first one it prints the launcher's report:
// the process and the last lines of its stderr. The last line is the command that shows the whole
// file.
void print_failure(const NamedJob&, const Execution&);

}  // namespace batchai::cli

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/job/job_state.hpp"

namespace batchai::cli {

// The longest pause between two calls of squeue, in seconds.
inline constexpr double kWaitInterval = 15;

// Reports on stderr each change of the job's state until it ends. Returns its exit code, or 255 if
// it has none.
int wait_for_job(NamedJob&, double interval);

}  // namespace batchai::cli

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/cli/job/job_state.hpp"

namespace batchai::cli {

// The longest pause between two questions to Slurm, in seconds.
inline constexpr double kWaitInterval = 15;

// Says on stderr what happens to a job until it is over. Returns its exit code; 255 where it has
// none.
int wait_for_job(NamedJob&, double interval);

}  // namespace batchai::cli

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "cli/job/job_name.hpp"
#include "cli/session.hpp"

namespace batchai::cli {

// Shows what jobs do, each second, until they have ended, or until the user presses q at a
// terminal. name: an empty one means all of the user's jobs that have not ended. once: only once.
// Returns the exit code.
int watch_jobs(const Session&, const JobName& name, bool once);

}  // namespace batchai::cli

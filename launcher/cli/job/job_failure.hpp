// SPDX-License-Identifier: Apache-2.0
//
// Why a job failed, on stderr: what job wait, job show and job create --wait say at its end.
#pragma once

#include "launcher/cli/job/execution.hpp"
#include "launcher/cli/job/job_state.hpp"

namespace batchai::cli {

// Each error with its node, as az printed it; below the first failure the launcher's report: the
// process and the last lines of its stderr. Then the command that shows the whole of it.
void print_failure(const NamedJob&, const Execution&);

}  // namespace batchai::cli

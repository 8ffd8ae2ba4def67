// SPDX-License-Identifier: Apache-2.0
//
// The options that name one job: -g -w -e and -n/--name, or -j/--job as in `job file`.
#pragma once

#include <string>

#include "launcher/cli/job/job_state.hpp"
#include "launcher/cli/session.hpp"

namespace CLI {
class App;
}

namespace batchai::cli {

struct JobName {
    Scope scope;
    std::string name;
};

void add_job_name(CLI::App&, JobName&);

// Opens the store and finds the job.
sys::Result<NamedJob> open_job(const JobName&);

}  // namespace batchai::cli

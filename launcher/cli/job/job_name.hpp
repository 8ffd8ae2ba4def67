// SPDX-License-Identifier: Apache-2.0
//
// How the verbs about one job name it: -g -w -e and -n/--name, or -j/--job as `job file` has it.
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

// The store and the named job in it.
sys::Result<NamedJob> open_job(const JobName&);

}  // namespace batchai::cli

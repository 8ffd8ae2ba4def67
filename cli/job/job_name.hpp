// SPDX-License-Identifier: Apache-2.0
//
// The options that name one job, or a job array or a task of one: -g -w -e and -n/--name, or
// -j/--job as in `job file`.
#pragma once

#include <string>

#include "cli/job/job_state.hpp"
#include "cli/session.hpp"

namespace CLI {
class App;
}

namespace batchai::cli {

struct JobName {
    Scope scope;
    std::string name;
};

void add_job_name(CLI::App&, JobName&);
// The same with other names of the option, such as "-j,--job".
void add_job_name(CLI::App&, JobName&, const std::string& options);

// Opens the store and finds the job. An array of several tasks is an error, which says how to name
// a task.
sys::Result<NamedJob> open_job(const JobName&);

// For verbs that act on all tasks of an array.
struct NamedJobs {
    Store store;
    FoundJobs found;
};
sys::Result<NamedJobs> open_jobs(const JobName&);
// The job, if one is named.
NamedJob only_job(NamedJobs);

}  // namespace batchai::cli

// SPDX-License-Identifier: Apache-2.0
//
// job terminate and job delete.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/command_options.hpp"
#include "cli/job/job_end.hpp"
#include "cli/job/job_name.hpp"
#include "cli/verbs.hpp"

namespace batchai::cli {
namespace {

struct EndArgs {
    JobName job;
    EndOptions options;
};

void add_end_verb(CLI::App& parent, Session& session, const std::string& name,
                  const std::string& description, int (*action)(const EndArgs&)) {
    CLI::App* verb =
        add_verb(parent, session, name, description, "batchai job " + name + " -n train --yes");
    const auto args = std::make_shared<EndArgs>();
    add_job_name(*verb, args->job);
    add_end_options(*verb, args->options);
    set_action(*verb, session, args, action);
}

// "job train", "the 12 tasks of job train"
std::string words_for(const FoundJobs& found, const std::string& name) {
    return found.rows.size() == 1 ? "job " + name
                                  : fmt::format("the {} tasks of job {}", found.rows.size(), name);
}

Reach reach_of(const FoundJobs& found) {
    return found.is_array ? Reach::whole_arrays : Reach::named;
}

int terminate(const EndArgs& args) {
    auto jobs = open_jobs(args.job);
    if (!jobs) return fail(kBadInput, jobs.error());
    const auto executions = executions_of(jobs->store, jobs->found.rows);
    if (!executions) return fail(kEnvironment, executions.error());
    const auto is_over = [](const Execution& execution) { return execution.over(); };
    if (std::all_of(executions->begin(), executions->end(), is_over))
        return kOk;  // succeeds, as in the service
    return end_jobs(jobs->store, jobs->found.rows, reach_of(jobs->found), Ending::terminate,
                    args.options, "Terminate " + words_for(jobs->found, args.job.name) + "?");
}

int remove(const EndArgs& args) {
    auto jobs = open_jobs(args.job);
    if (!jobs) return fail(kBadInput, jobs.error());
    return end_jobs(jobs->store, jobs->found.rows, reach_of(jobs->found), Ending::erase,
                    args.options,
                    "Delete the record of " + words_for(jobs->found, args.job.name) +
                        "? Its output files stay.");
}

}  // namespace

void add_job_terminate(CLI::App& parent, Session& session) {
    add_end_verb(parent, session, "terminate", "end a queued or running job", terminate);
}

void add_job_delete(CLI::App& parent, Session& session) {
    add_end_verb(parent, session, "delete",
                 "end a job and delete its record, never its output files", remove);
}

}  // namespace batchai::cli

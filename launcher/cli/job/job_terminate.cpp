// SPDX-License-Identifier: Apache-2.0
//
// job terminate and job delete.
#include <memory>

#include "launcher/cli/command_options.hpp"
#include "launcher/cli/job/job_end.hpp"
#include "launcher/cli/job/job_name.hpp"
#include "launcher/cli/verbs.hpp"

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
    verb->callback(
        [args, action, &session] { session.action = [args, action] { return action(*args); }; });
}

int terminate(const EndArgs& args) {
    auto job = open_job(args.job);
    if (!job) return fail(kBadInput, job.error());
    const auto execution = execution_of(job->store, job->row);
    if (!execution) return fail(kEnvironment, execution.error());
    if (execution->over()) return kOk;  // succeeds, as in the service
    return end_jobs(job->store, {job->row}, Ending::terminate, args.options,
                    "Terminate job " + args.job.name + "?");
}

int remove(const EndArgs& args) {
    auto job = open_job(args.job);
    if (!job) return fail(kBadInput, job.error());
    return end_jobs(job->store, {job->row}, Ending::erase, args.options,
                    "Delete the record of job " + args.job.name + "? Its output files stay.");
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

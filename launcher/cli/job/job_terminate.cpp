// SPDX-License-Identifier: Apache-2.0
//
// job terminate and job delete.
#include <memory>

#include "launcher/cli/command_options.hpp"
#include "launcher/cli/job/job_name.hpp"
#include "launcher/cli/slurm/slurm.hpp"
#include "launcher/cli/verbs.hpp"

namespace batchai::cli {
namespace {

struct EndArgs {
    JobName job;
    bool yes = false;
};

int terminate(const EndArgs& args) {
    auto job = open_job(args.job);
    if (!job) return fail(kBadInput, job.error());
    const auto execution = execution_of(job->store, job->row);
    if (!execution) return fail(kEnvironment, execution.error());
    if (execution->over()) return kOk;  // succeeds, as in the service
    if (job->row.local)
        return fail(kFailed, "job " + args.job.name +
                                 ": runs in the foreground of 'batchai job run --local': end it "
                                 "there, with Ctrl-C");
    if (!confirmed(args.yes, "Terminate job " + args.job.name + "?")) return kFailed;
    if (auto done = job->store.history.set_terminating(job->row.identity.uuid); !done)
        return fail(kFailed, done.error());
    if (auto done = cancel(job->row.slurm_id); !done) return fail(kFailed, done.error());
    return kOk;
}

int remove(const EndArgs& args) {
    auto job = open_job(args.job);
    if (!job) return fail(kBadInput, job.error());
    const auto execution = execution_of(job->store, job->row);
    if (!execution) return fail(kEnvironment, execution.error());
    const bool submitted = job->row.local || job->row.slurm_id > 0;
    if (!execution->over() && submitted)
        return fail(kFailed, "job " + args.job.name + ": is " + state_name(execution->state) +
                                 ": terminate it first");
    if (!confirmed(args.yes,
                   "Delete the record of job " + args.job.name + "? Its output files stay."))
        return kFailed;
    if (auto done = remove_job(job->store, job->row); !done) return fail(kFailed, done.error());
    return kOk;
}

void add(CLI::App& parent, Session& session, const std::string& name,
         const std::string& description, int (*action)(const EndArgs&)) {
    CLI::App* verb =
        add_verb(parent, session, name, description, "batchai job " + name + " -n train --yes");
    const auto args = std::make_shared<EndArgs>();
    add_job_name(*verb, args->job);
    add_yes_flag(*verb, args->yes);
    verb->callback(
        [args, action, &session] { session.action = [args, action] { return action(*args); }; });
}

}  // namespace

void add_job_terminate(CLI::App& parent, Session& session) {
    add(parent, session, "terminate", "end a queued or running job", terminate);
}

void add_job_delete(CLI::App& parent, Session& session) {
    add(parent, session, "delete", "delete a job's record, never its output files", remove);
}

}  // namespace batchai::cli

// SPDX-License-Identifier: Apache-2.0
//
// job show and job list.
#include <memory>

#include "launcher/cli/command_options.hpp"
#include "launcher/cli/job/job_document.hpp"
#include "launcher/cli/job/job_name.hpp"
#include "launcher/cli/job/preparation_progress.hpp"
#include "launcher/cli/output/time_text.hpp"
#include "launcher/cli/verbs.hpp"
#include "sys/clock.hpp"

namespace batchai::cli {
namespace {

sys::Result<nlohmann::json> describe(Store& store, JobRow& row, const OwnJobs* all = nullptr) {
    const auto execution = execution_of(store, row, all);
    if (!execution) return execution.error();
    const auto snapshot = read_snapshot(store, row);
    const auto events = job::read_events(store.record(row.identity.uuid));
    return job_document(row, *execution, snapshot ? *snapshot : nlohmann::json(),
                        preparation_of(events, *execution, sys::wall_clock()));
}

int show(const Session& session, const JobName& name) {
    auto job = open_job(name);
    if (!job) return fail(kBadInput, job.error());
    const auto document = describe(job->store, job->row);
    if (!document) return fail(kEnvironment, document.error());
    return session.print(*document, job_table);
}

int list(const Session& session, const Scope& scope) {
    auto store = open_store();
    if (!store) return fail(kEnvironment, store.error());
    auto jobs =
        find_jobs(*store, {scope.resource_group, scope.workspace, scope.experiment, "", ""});
    if (!jobs) return fail(kFailed, jobs.error());
    auto documents = nlohmann::json::array();
    const OwnJobs all;
    for (auto& row : *jobs) {
        const auto document = describe(*store, row, &all);
        if (!document) return fail(kEnvironment, document.error());
        documents.push_back(*document);
    }
    return session.print(documents, job_table);
}

}  // namespace

void add_job_show(CLI::App& parent, Session& session) {
    CLI::App* verb = add_verb(parent, session, "show", "a job's state, settings and errors",
                              "batchai job show -n train --query executionState");
    const auto name = std::make_shared<JobName>();
    add_job_name(*verb, *name);
    verb->callback(
        [name, &session] { session.action = [name, &session] { return show(session, *name); }; });
}

void add_job_list(CLI::App& parent, Session& session) {
    CLI::App* verb =
        add_verb(parent, session, "list", "your jobs, oldest first", "batchai job list -o table");
    const auto scope = std::make_shared<Scope>(Scope{"", "", ""});
    add_experiment_options(*verb, *scope);
    verb->callback([scope, &session] {
        session.action = [scope, &session] { return list(session, *scope); };
    });
}

}  // namespace batchai::cli

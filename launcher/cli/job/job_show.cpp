// SPDX-License-Identifier: Apache-2.0
//
// job show and job list.
#include <memory>

#include "launcher/cli/command_options.hpp"
#include "launcher/cli/job/job_failure.hpp"
#include "launcher/cli/job/job_name.hpp"
#include "launcher/cli/verbs.hpp"

namespace batchai::cli {
namespace {

int show(const Session& session, const JobName& name) {
    auto job = open_job(name);
    if (!job) return fail(kBadInput, job.error());
    const auto execution = execution_of(job->store, job->row);
    if (!execution) return fail(kEnvironment, execution.error());
    const int code =
        session.print(describe(job->store, job->row, *execution), [&](const nlohmann::json&) {
            return job_table({line_of(job->store, job->row, *execution)});
        });
    // With --query the user asks for one value only.
    if (execution->state == Execution::State::failed && session.query.empty())
        print_failure(*job, *execution);
    return code;
}

// For ended jobs, a table or plain JSON comes from the history: nothing is parsed and no file is
// read.
int list(const Session& session, const Scope& scope) {
    auto store = open_store();
    if (!store) return fail(kEnvironment, store.error());
    const bool documents = !session.wants_table();
    auto jobs = find_jobs(
        *store, {scope.resource_group, scope.workspace, scope.experiment, "", "", documents});
    if (!jobs) return fail(kFailed, jobs.error());
    const auto executions = executions_of(*store, *jobs);
    if (!executions) return fail(kEnvironment, executions.error());
    std::vector<JobLine> lines;
    std::vector<std::string> texts;
    auto all = nlohmann::json::array();
    for (std::size_t i = 0; i < jobs->size(); ++i) {
        JobRow& row = jobs->at(i);
        if (session.wants_table())
            lines.push_back(line_of(*store, row, executions->at(i)));
        else if (session.wants_json())
            texts.push_back(document_text(*store, row, executions->at(i)));
        else
            all.push_back(describe(*store, row, executions->at(i)));
    }
    if (session.wants_table()) return session.print_table(job_table(lines));
    if (session.wants_json()) return session.print_documents(texts);
    return session.print(all);
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

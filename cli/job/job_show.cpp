// SPDX-License-Identifier: Apache-2.0
//
// job show and job list.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "cli/command_options.hpp"
#include "cli/job/job_name.hpp"
#include "cli/job/job_wait.hpp"
#include "cli/job/top.hpp"
#include "cli/output/time_text.hpp"
#include "cli/verbs.hpp"
#include "sys/clock.hpp"

namespace batchai::cli {
namespace {

// For ended jobs, a table or plain JSON comes from the history: nothing is parsed and no file is
// read.
int print_jobs(const Session& session, const Store& store, std::vector<JobRow>& rows,
               const std::vector<Execution>& executions) {
    std::vector<JobLine> lines;
    std::vector<std::string> texts;
    auto all = nlohmann::json::array();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (session.wants_table())
            lines.push_back(line_of(store, rows[i], executions[i]));
        else if (session.wants_json())
            texts.push_back(document_text(store, rows[i], executions[i]));
        else
            all.push_back(describe(store, rows[i], executions[i]));
    }
    if (session.wants_table()) return session.print_table(job_table(lines));
    if (session.wants_json()) return session.print_documents(texts);
    return session.print(all);
}

// The tasks of an array: as a list, and without the report of each failure.
int show_array(const Session& session, NamedJobs& jobs) {
    auto& rows = jobs.found.rows;
    const auto executions = executions_of(jobs.store, rows);
    if (!executions) return fail(kEnvironment, executions.error());
    const auto has_failed = [](const Execution& execution) {
        return execution.state == Execution::State::failed;
    };
    const auto failed = std::find_if(executions->begin(), executions->end(), has_failed);
    const int code = print_jobs(session, jobs.store, rows, *executions);
    if (failed != executions->end() && session.query.empty())
        note(fmt::format(
            "{} of {} tasks failed; the report of one: batchai job show -n {}",
            std::count_if(failed, executions->end(), has_failed), rows.size(),
            rows[static_cast<std::size_t>(failed - executions->begin())].number.text()));
    return code;
}

struct ShowArgs {
    JobName name;
    bool watch = false;
};

int show(const Session& session, const ShowArgs& args) {
    const JobName& name = args.name;
    if (args.watch) return watch_jobs(session, name, false);
    auto jobs = open_jobs(name);
    if (!jobs) return fail(kBadInput, jobs.error());
    if (jobs->found.is_array) return show_array(session, *jobs);
    auto job = std::optional(only_job(*std::move(jobs)));
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

struct ListArgs {
    Scope scope{"", "", ""};
    std::optional<double> since;  // seconds
    std::vector<std::string> states;
    std::optional<std::size_t> last;
};

// Drops the jobs whose state is not asked for. No states: all are.
void keep_states(const std::vector<std::string>& states, std::vector<JobRow>& rows,
                 std::vector<Execution>& executions) {
    if (states.empty()) return;
    std::vector<JobRow> kept_rows;
    std::vector<Execution> kept;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const char* state = state_name(executions[i].state);
        if (std::find(states.begin(), states.end(), state) == states.end()) continue;
        kept_rows.push_back(std::move(rows[i]));
        kept.push_back(std::move(executions[i]));
    }
    rows = std::move(kept_rows);
    executions = std::move(kept);
}

template <class T>
void keep_last(const std::optional<std::size_t>& count, std::vector<T>& items) {
    if (count && *count < items.size())
        items.erase(items.begin(), items.end() - static_cast<std::ptrdiff_t>(*count));
}

int list(const Session& session, Store& store, const ListArgs& args) {
    const bool documents = !session.wants_table();
    const Scope& scope = args.scope;
    auto jobs = find_jobs(
        store, {scope.resource_group, scope.workspace, scope.experiment, "", "", documents});
    if (!jobs) return fail(kFailed, jobs.error());
    if (args.since) {
        const double earliest = sys::wall_clock() - *args.since;
        std::erase_if(*jobs, [earliest](const JobRow& row) { return row.created < earliest; });
    }
    if (args.states.empty()) keep_last(args.last, *jobs);
    auto executions = executions_of(store, *jobs);
    if (!executions) return fail(kEnvironment, executions.error());
    keep_states(args.states, *jobs, *executions);
    keep_last(args.last, *jobs);
    keep_last(args.last, *executions);
    return print_jobs(session, store, *jobs, *executions);
}

}  // namespace

void add_job_show(CLI::App& parent, Session& session) {
    CLI::App* verb = add_verb(parent, session, "show", "a job's state, settings and errors",
                              "batchai job show -n train --query executionState");
    const auto args = std::make_shared<ShowArgs>();
    add_job_name(*verb, args->name);
    verb->add_flag("--watch", args->watch, "show what the ranks do, each second: batchai top");
    set_action(*verb, session, args, show);
}

void add_job_list(CLI::App& parent, Session& session) {
    CLI::App* verb =
        add_verb(parent, session, "list", "your jobs, oldest first", "batchai job list -o table");
    const auto args = std::make_shared<ListArgs>();
    add_experiment_options(*verb, args->scope);
    verb->add_option_function<std::string>(
            "--since", [args](const std::string& text) { args->since = parse_age(text); },
            "only jobs that were submitted in this time, such as 7d, 12h or 30m")
        ->check([](const std::string& text) {
            return parse_age(text)
                       ? std::string()
                       : "'" + text + "' is not a time: a number and s, m, h, d or w, such as 7d";
        })
        ->type_name("TIME");
    verb->add_option("--state", args->states,
                     "only jobs in this state: queued, running, terminating, succeeded or failed")
        ->expected(1)
        ->take_all()
        ->delimiter(',')
        ->check(CLI::Validator(
            [](const std::string& text) {
                return state_from_name(text)
                           ? std::string()
                           : "'" + text +
                                 "' is not a state: queued, running, terminating, "
                                 "succeeded or failed";
            },
            ""));
    verb->add_option("--last", args->last, "only the last N of them")
        ->check(CLI::Range(1, 1'000'000))
        ->type_name("N");
    set_store_action(*verb, session, args, list);
}

}  // namespace batchai::cli

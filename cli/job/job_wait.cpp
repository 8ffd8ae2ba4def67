// SPDX-License-Identifier: Apache-2.0
//
// job wait: reports each change of a job's state, as az did, and ends with the job's exit code.
#include "cli/job/job_wait.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "cli/command_options.hpp"
#include "cli/job/job_document.hpp"
#include "cli/job/job_files.hpp"
#include "cli/job/job_name.hpp"
#include "cli/output/time_text.hpp"
#include "cli/verbs.hpp"
#include "job/layout.hpp"
#include "job/record.hpp"
#include "slurm/poll.hpp"
#include "sys/clock.hpp"
#include "sys/file.hpp"
#include "sys/shell.hpp"
#include "sys/text.hpp"

namespace batchai::cli {
namespace {

constexpr double kShortestInterval = 0.2;
constexpr double kLongestInterval = 86400;

void say(const std::string& line) {
    std::cerr << sys::printable_lines(line) << std::endl;
}

// A job that was cancelled in the queue has no start.
std::string at_and_took(const Execution& execution) {
    const double end = execution.end_time.value_or(sys::wall_clock());
    if (!execution.start_time) return "at " + plain_time(end);
    return fmt::format("at {}; execution took {}", plain_time(end),
                       duration_text(end - *execution.start_time));
}

// "queued (Resources)": the state, with Slurm's reason.
std::string state_text(const Execution& execution) {
    const std::string state = state_name(execution.state);
    return execution.waits_for.empty() ? state : state + " (" + execution.waits_for + ")";
}

// Prints the nodes that are preparing, if they have changed.
void say_preparing(NamedJob& job, const Execution& execution, std::vector<std::string>& before) {
    const auto events = job::read_events(job.store.record(job.row.identity.uuid));
    const auto preparation = preparation_of(events, execution, sys::wall_clock());
    auto nodes = preparing_nodes(preparation);
    if (nodes != before && !nodes.empty()) say("Job preparation: " + preparing_text(preparation));
    before = std::move(nodes);
}

int say_failure(const NamedJob& job, const Execution& execution) {
    const auto& row = job.row;
    say(fmt::format("The job \"{}\" in resource group \"{}\" failed.", shown_name(row),
                    row.identity.resource_group));
    say(fmt::format("Job failed with exit code {} {}",
                    execution.exit_code ? std::to_string(*execution.exit_code) : "<none>",
                    at_and_took(execution)));
    print_failure(job, execution);
    return execution.exit_code.value_or(kNoExitCode);
}

// "2 running, 1 succeeded", in the order of a job's life.
std::string counts_text(const std::vector<Execution>& executions) {
    std::map<Execution::State, int> counts;
    for (const Execution& execution : executions) ++counts[execution.state];
    std::string text;
    for (const auto& [state, count] : counts)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, state_name(state));
    return text;
}

// The highest exit code of the tasks, as `sbatch --wait` has it. It reports the failed ones.
int array_end(const std::vector<JobRow>& rows, const std::vector<Execution>& executions) {
    int code = kOk;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Execution& execution = executions[i];
        if (execution.state != Execution::State::failed) continue;
        code = std::max(code, execution.exit_code.value_or(kNoExitCode));
        say(fmt::format("Task {} failed with exit code {}: batchai job show -n {}",
                        rows[i].number.index(),
                        execution.exit_code ? std::to_string(*execution.exit_code) : "<none>",
                        rows[i].number.text()));
    }
    if (code == kOk) say("Job completed");
    return code;
}

int wait_for_array(NamedJobs& jobs, double interval) {
    auto& rows = jobs.found.rows;
    say(fmt::format("Job submitted at {}: an array of {}", plain_time(rows.front().created),
                    sys::plural(static_cast<long long>(rows.size()), "task")));
    slurm::Poll poll{slurm::Poll::Seconds(interval)};
    std::string last;
    for (bool told = false;; poll.sleep()) {
        const auto executions = executions_of(jobs.store, rows);
        if (!executions) {  // slurmctld may restart
            if (last.empty()) return fail(kEnvironment, executions.error());
            if (!told) note(executions.error().message + "; waiting for it to answer");
            told = true;
            continue;
        }
        told = false;
        const std::string state = counts_text(*executions);
        if (state != last) say("Tasks: " + state);
        last = state;
        if (std::all_of(executions->begin(), executions->end(),
                        [](const Execution& execution) { return execution.over(); }))
            return array_end(rows, *executions);
    }
}

}  // namespace

int wait_for_job(NamedJob& job, double interval) {
    say("Job submitted at " + plain_time(job.row.created));
    JobWatch watch(job);
    slurm::Poll poll{slurm::Poll::Seconds(interval)};
    std::string last;
    std::vector<std::string> preparing;
    bool started = false;
    for (;;) {
        const auto execution = watch.now();
        if (!execution) return fail(kEnvironment, execution.error());
        if (execution->start_time && !started) {
            say("Job started execution at " + plain_time(*execution->start_time));
            started = true;
        }
        const std::string state = state_text(*execution);
        if (state != last) say("Job state: " + state);
        last = state;
        if (execution->state == Execution::State::running)
            say_preparing(job, *execution, preparing);
        if (execution->state == Execution::State::failed) return say_failure(job, *execution);
        if (execution->state == Execution::State::succeeded) {
            say("Job completed " + at_and_took(*execution));
            return kOk;
        }
        poll.sleep();
    }
}

void add_job_wait(CLI::App& parent, Session& session) {
    CLI::App* verb = add_verb(parent, session, "wait",
                              "wait for a job's end; exits with the job's own exit code",
                              "batchai job wait -n train");
    const auto name = std::make_shared<JobName>();
    const auto interval = std::make_shared<double>(kWaitInterval);
    add_job_name(*verb, *name);
    verb->add_option("--interval", *interval, "ask Slurm at least that often, in seconds")
        ->check(number_from(kShortestInterval, kLongestInterval))
        ->capture_default_str();
    verb->callback([name, interval, &session] {
        session.action = [name, interval] {
            auto jobs = open_jobs(*name);
            if (!jobs) return fail(kBadInput, jobs.error());
            if (jobs->found.is_array) return wait_for_array(*jobs, *interval);
            auto job = only_job(*std::move(jobs));
            return wait_for_job(job, *interval);
        };
    });
}

namespace {

constexpr const char* kStderr = "stderr.txt";
// How much of a preparation's stderr is shown.
constexpr std::size_t kMostLines = 10;
constexpr std::size_t kMostBytes = 8192;

void tell(const std::string& text) {
    std::cerr << sys::printable_lines(text) << std::endl;
}

// The command that shows the first of these files that is there, or else the list of all files.
// Empty: this machine does not see the files.
std::string command_for_more(const NamedJob& job, const std::vector<std::string>& files) {
    const auto directory = output_directory(job, "stdouterr", ".");
    if (!directory) return {};
    const auto& identity = job.row.identity;
    const std::string which = fmt::format(
        "-g {} -w {} -e {} -j {}", sys::shell_quoted(identity.resource_group),
        sys::shell_quoted(identity.workspace), sys::shell_quoted(identity.experiment),
        sys::shell_quoted(job.row.number.is_task() ? job.row.number.text() : identity.name));
    for (const std::string& file : files)
        if (!file.empty() && sys::is_regular_file(*directory + "/" + file))
            return fmt::format("batchai job file stream {} -f {}", which, sys::shell_quoted(file));
    return fmt::format("batchai job file list {} -o table", which);
}

// The stderr file of the preparation that failed. Empty: no preparation failed, or this machine
// does not see the file.
std::string preparation_log_of(const NamedJob& job, const JobError& error) {
    if (error.code != "JobPreparationFailed") return {};
    const auto directory = output_directory(job, "stdouterr", ".");
    if (!directory) return {};
    for (const std::string& node : {std::string(), error.node}) {
        std::string file = job::preparation_stderr_name(node);
        if (sys::is_regular_file(*directory + "/" + file)) return file;
    }
    return {};
}

// In the words of batchai-launch's report about a rank.
std::string last_lines_of(const NamedJob& job, const std::string& file) {
    const auto directory = output_directory(job, "stdouterr", ".");
    if (!directory) return {};
    const auto opened = job::open_log(*directory + "/" + file, O_RDONLY);
    if (!opened) return {};
    std::vector<std::string> lines;
    std::istringstream input(sys::tail_of(opened->get(), kMostBytes));
    for (std::string line; std::getline(input, line);) lines.push_back(std::move(line));
    const std::size_t first = lines.size() - std::min(lines.size(), kMostLines);
    std::string shown = lines.empty() ? "" : "  last lines of its stderr:\n";
    for (std::size_t i = first; i < lines.size(); ++i) shown += "    " + lines[i] + "\n";
    return shown;
}

}  // namespace

void print_failure(const NamedJob& job, const Execution& execution) {
    const auto result = job::read_result(job.store.record(job.row.identity.uuid));
    std::string preparation_log;
    for (const JobError& error : execution.errors) {
        tell(fmt::format("Error message: {}\nDetails:\n {}", error.message,
                         error.node.empty() ? "<none>" : "Node: " + error.node));
        if (result && error.message == result->failure && !result->details.empty())
            std::cerr << sys::printable_lines(result->details) << std::flush;
        if (!preparation_log.empty()) continue;
        preparation_log = preparation_log_of(job, error);
        if (!preparation_log.empty())
            std::cerr << sys::printable_lines(last_lines_of(job, preparation_log)) << std::flush;
    }
    const std::string rank_log = result ? result->error_file : "";
    if (const std::string command = command_for_more(job, {preparation_log, rank_log, kStderr});
        !command.empty())
        tell("To see all of it: " + command);
}

}  // namespace batchai::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/job/job_end.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/command_options.hpp"
#include "cli/job/job_state.hpp"
#include "slurm/jobs.hpp"
#include "slurm/poll.hpp"
#include "sys/clock.hpp"

namespace batchai::cli {
namespace {

constexpr double kLongestSubmission = 600;  // seconds; sbatch may repeat its request

// Why the job cannot be ended from here; empty: it can.
std::string obstacle(const JobRow& row) {
    if (row.local)
        return "runs in the foreground of 'batchai job run --local': end it there, with Ctrl-C";
    if (!row.number && sys::wall_clock() - row.created < kLongestSubmission)
        return "has no Slurm job number: it is being submitted, or was interrupted. Try again in "
               "some minutes";
    return {};
}

// The ends of the jobs. Slurm may stop answering for a while, for example while slurmctld restarts.
void wait_for_ends(Store& store, std::vector<JobRow>& rows) {
    slurm::Poll poll;
    for (bool told = false;;) {
        const auto executions = executions_of(store, rows);
        if (!executions && !told) note(executions.error().message + "; waiting for it to answer");
        told = !executions;
        if (executions && std::all_of(executions->begin(), executions->end(),
                                      [](const Execution& e) { return e.over(); }))
            return;
        poll.sleep();
    }
}

sys::Result<void> begin_ends(Store& store, const std::vector<JobRow>& rows, Reach reach,
                             Ending ending) {
    std::vector<job::Number> numbers;
    for (const JobRow& row : rows) {
        const job::Number number = reach == Reach::named || !row.number.is_task()
                                       ? row.number
                                       : job::Number::of_job(row.number.whole());
        if (std::find(numbers.begin(), numbers.end(), number) == numbers.end())
            numbers.push_back(number);
    }
    sys::Result<void> done = numbers.empty() ? sys::Result<void>() : slurm::cancel(numbers);
    for (const JobRow& row : rows) {
        if (!done) break;
        done = ending == Ending::erase ? store.history.set_deleting(row.identity.uuid)
                                       : store.history.set_terminating(row.identity.uuid);
    }
    return done;
}

// " (ends: a, b, c and 3 more)"
std::string to_end(const std::vector<JobRow>& rows) {
    constexpr std::size_t kShown = 3;
    std::string names;
    for (std::size_t i = 0; i < std::min(kShown, rows.size()); ++i)
        names += (i == 0 ? "" : ", ") + shown_name(rows[i]);
    if (rows.size() > kShown) names += fmt::format(" and {} more", rows.size() - kShown);
    return rows.empty() ? "" : " (ends: " + names + ")";
}

}  // namespace

void add_end_options(CLI::App& verb, EndOptions& options) {
    verb.add_flag("-y,--yes", options.yes, "do not ask");
    verb.add_flag("--no-wait", options.no_wait, "do not wait for the ends of jobs");
}

int end_jobs(Store& store, std::vector<JobRow> rows, Reach reach, Ending ending,
             const EndOptions& options, const std::string& question) {
    const auto executions = executions_of(store, rows);
    if (!executions) return fail(kEnvironment, executions.error());
    std::vector<JobRow> unfinished;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (executions->at(i).over()) continue;
        if (const std::string why = obstacle(rows[i]); !why.empty())
            return fail(kFailed, "job " + shown_name(rows[i]) + ": " + why);
        // A submission that was interrupted has left a record without a job.
        if (rows[i].number) unfinished.push_back(rows[i]);
    }
    if (!confirmed(options.yes, question + to_end(unfinished))) return kFailed;
    if (auto done = begin_ends(store, unfinished, reach, ending); !done)
        return fail(kFailed, done.error());
    if (!options.no_wait) wait_for_ends(store, unfinished);
    if (ending == Ending::terminate) return kOk;
    for (const JobRow& row : rows) {
        const auto is_row = [&row](const JobRow& r) {
            return r.identity.uuid == row.identity.uuid;
        };
        const bool still_ends =
            options.no_wait && std::any_of(unfinished.begin(), unfinished.end(), is_row);
        if (still_ends) continue;
        if (auto done = remove_job(store, row); !done) return fail(kFailed, done.error());
    }
    return kOk;
}

void finish_deletions(Store& store) {
    JobFilter filter;
    filter.deleting = true;
    auto rows = store.history.jobs(filter);
    if (!rows || rows->empty()) return;
    const auto executions = executions_of(store, *rows);
    if (!executions) return;
    for (std::size_t i = 0; i < rows->size(); ++i)
        if (executions->at(i).over()) static_cast<void>(remove_job(store, rows->at(i)));
}

}  // namespace batchai::cli

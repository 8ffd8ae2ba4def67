// SPDX-License-Identifier: Apache-2.0
#include "slurm/jobs.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include "job/snapshot.hpp"
#include "slurm/command.hpp"
#include "sys/subprocess.hpp"
#include "sys/text.hpp"

namespace batchai::slurm {
namespace {

// A shell's exit code for a program that signal N ended is kSignalBase + N.
constexpr int kSignalBase = 128;

// A time in seconds (SLURM_TIME_FORMAT=%s); nothing for "Unknown" and "N/A".
std::optional<double> time_of(const std::string& text) {
    const auto seconds = number<long long>(text);
    if (!seconds || *seconds <= 0) return std::nullopt;
    return static_cast<double>(*seconds);
}

// "768" as wait(2) has it, which squeue of 22.05 prints, or "3:0": code and signal, as sacct and
// squeue of 24.11 print.
int exit_code(const std::string& text) {
    const auto colon = text.find(':');
    if (colon == text.npos) return sys::exit_code_of(number<int>(text).value_or(0));
    const int signal = number<int>(text.substr(colon + 1)).value_or(0);
    return signal > 0 ? kSignalBase + signal : number<int>(text.substr(0, colon)).value_or(0);
}

// The number that squeue prints as JobArrayID ("26_3") and JobID ("28"). A task that has not
// started has the array's number as JobID.
std::optional<job::Number> number_of(const std::string& text, const std::string& own,
                                     bool has_started) {
    const auto number = job::parse_number(text);
    const auto own_number = job::parse_number(own);
    if (!number || !own_number) return std::nullopt;
    const bool known = has_started || own_number->own() != number->whole();
    const std::int64_t id = known ? own_number->own() : 0;
    if (number->is_task()) return job::Number::of_task(number->whole(), number->index(), id);
    if (number->is_component())
        return job::Number::of_component(number->whole(), number->index(), own_number->own());
    return number;
}

// Only the user's own jobs: an operator sees all, and a number may be another user's job after
// slurmctld has lost its state. These fields contain no text that a user can choose, so no job name
// can imitate a state.
Call squeue_jobs(const std::vector<std::string>& which) {
    Call call = squeue({"--states=all", "--me"});
    call.arguments.insert(call.arguments.end(), which.begin(), which.end());
    call.arguments.emplace_back(
        "--Format=JobArrayID:64,JobID:16,State:32,exit_code:16,StartTime:32,EndTime:32,"
        "Partition:256,Reason:256");
    return call;
}

}  // namespace

void Jobs::add(Job job) {
    std::string text = job.number.text();
    if (job.number.own() > 0) texts_of_own_.emplace(job.number.own(), text);
    jobs_.emplace(std::move(text), std::move(job));
}

std::optional<Job> Jobs::find(const job::Number& number) const {
    auto found = jobs_.find(number.text());
    if (found == jobs_.end() && number.kind() == job::Number::Kind::job)
        if (const auto text = texts_of_own_.find(number.own()); text != texts_of_own_.end())
            found = jobs_.find(text->second);
    return found == jobs_.end() ? std::nullopt : std::optional(found->second);
}

Jobs parse_jobs(const std::string& text) {
    Jobs jobs;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        Job job;
        std::string id, own, code, start, end;
        std::istringstream words(line);
        if (!(words >> id >> own >> job.state >> code >> start >> end >> job.partition)) continue;
        const auto number = number_of(id, own, job.state != "PENDING");
        if (!number) continue;
        job.number = *number;
        std::getline(words >> std::ws, job.reason);
        job.reason.erase(job.reason.find_last_not_of(' ') + 1);
        job.start_time = time_of(start);
        job.end_time = time_of(end);
        job.exit_code = exit_code(code);
        jobs.add(std::move(job));
    }
    return jobs;
}

sys::Result<Jobs> query_own_jobs() {
    const auto text = ask(squeue_jobs({}));
    if (!text) return text.error();
    return parse_jobs(*text);
}

sys::Result<std::optional<Job>> query_job(const job::Number& number) {
    const auto text = ask(squeue_jobs({"--jobs=" + number.text()}));
    if (!text && text.error().message.find("Invalid job id") != std::string::npos)
        return std::optional<Job>();
    if (!text) return text.error();
    return parse_jobs(*text).find(number);
}

std::vector<CommentedJob> parse_comments(const std::string& squeue) {
    std::vector<CommentedJob> jobs;
    for (const std::string& line : lines_of(squeue)) {
        std::istringstream words(line);
        std::string id, own, comment;
        words >> id >> own >> comment;
        const auto number = number_of(id, own, false);
        std::string uuid = job::uuid_of_comment(comment);
        if (number && !uuid.empty()) jobs.push_back({*number, std::move(uuid)});
    }
    return jobs;
}

sys::Result<std::vector<CommentedJob>> query_comments() {
    const auto text =
        ask(squeue({"--me", "--states=all", "--Format=JobArrayID:64,JobID:16,Comment:512"}));
    if (!text) return text.error();
    return parse_comments(*text);
}

std::optional<Job> parse_sacct(const std::string& text, const job::Number& wanted,
                               double earliest) {
    for (const std::string& line : lines_of(text)) {
        std::array<std::string, 8> field;
        std::istringstream fields(line);
        for (std::string& one : field) std::getline(fields, one, '|');
        const auto& [id, own, state, code, submitted, start, end, partition] = field;
        const auto submit_time = time_of(submitted);
        const bool is_it = wanted.is_task() ? id == wanted.text() : own == wanted.text();
        if (!is_it || !submit_time || *submit_time < earliest) continue;
        Job job;
        job.state = state.substr(0, state.find(' '));  // "CANCELLED by 1000" becomes "CANCELLED"
        job.start_time = time_of(start);
        job.end_time = time_of(end);
        if (!job.end_time) return std::nullopt;  // slurmdbd did not learn of the end
        job.exit_code = exit_code(code);
        job.partition = partition;
        job.number = wanted;
        return job;
    }
    return std::nullopt;
}

std::optional<Job> accounted_job(const job::Number& number, double earliest) {
    const auto text = ask({"sacct",
                           {"--noheader", "--parsable2", "--allocations", "--jobs=" + number.text(),
                            "--format=JobID,JobIDRaw,State,ExitCode,Submit,Start,End,Partition"},
                           {"SACCT_", kTimeFormat},
                           {kTimesInSeconds}});
    return text ? parse_sacct(*text, number, earliest) : std::nullopt;
}

sys::Result<std::vector<std::string>> unfinished_jobs() {
    Call call = squeue({"--format=%A"});
    call.unset.push_back(kCluster);
    return ask_lines(call);
}

std::optional<std::int64_t> own_job_on(const std::string& node) {
    const auto text =
        ask(squeue({"--me", "--states=RUNNING", "--nodelist=" + node, "--format=%A"}));
    return text ? number<std::int64_t>(sys::first_line(*text)) : std::nullopt;
}

sys::Result<void> cancel(const std::vector<job::Number>& numbers) {
    // Not --user: with it scancel ends all tasks that wait, in place of the one that is named.
    // Callers have asked squeue for the user's own jobs.
    Call call{"scancel", {}};
    for (const job::Number& number : numbers) call.arguments.push_back(number.text());
    const auto done = ask(call);
    // Slurm says "Invalid job id" of a job that has ended.
    if (!done && done.error().message.find("Invalid job id") == std::string::npos)
        return done.error();
    return {};
}

sys::Result<void> signal_script(const job::Number& number, const std::string& signal) {
    const auto done = ask({"scancel", {"--batch", "--signal=" + signal, number.text()}});
    if (!done) return done.error();
    return {};
}

}  // namespace batchai::slurm

// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/slurm/slurm.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <sstream>
#include <string_view>

#include "job/snapshot.hpp"
#include "launcher/cli/slurm/external.hpp"
#include "launcher/common/slurm_command.hpp"
#include "sys/subprocess.hpp"

namespace batchai::cli {
namespace {

// A shell's exit code for a program that signal N ended is kSignalBase + N.
constexpr int kSignalBase = 128;

template <class Number>
std::optional<Number> number(std::string_view text) {
    Number value{};
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// A time in seconds (SLURM_TIME_FORMAT=%s); nothing for "Unknown" and "N/A".
std::optional<double> time_of(const std::string& text) {
    const auto seconds = number<long long>(text);
    if (!seconds || *seconds <= 0) return std::nullopt;
    return static_cast<double>(*seconds);
}

// "[days-][[hours:]minutes:]seconds"; nothing for "infinite" and the like.
std::optional<long> seconds_of(std::string_view text) {
    long days = 0;
    if (const auto dash = text.find('-'); dash != text.npos) {
        days = number<long>(text.substr(0, dash)).value_or(0);
        text.remove_prefix(dash + 1);
    }
    long seconds = 0;
    for (;;) {
        const auto part = number<long>(text.substr(0, text.find(':')));
        if (!part) return std::nullopt;
        seconds = seconds * 60 + *part;
        if (text.find(':') == text.npos) return days * 86400 + seconds;
        text.remove_prefix(text.find(':') + 1);
    }
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

// A command of Slurm's to run.
struct Call {
    std::string name;
    std::vector<std::string> arguments;
    // The user's variables whose entries begin with one of these are not passed on.
    std::vector<std::string_view> unset = {};
    std::vector<std::string> set = {};  // "NAME=VALUE"
    std::string input = {};
};

// Without it, the command asks this machine's cluster, not the one that the user has chosen.
constexpr std::string_view kCluster = "SLURM_CLUSTERS=";
constexpr std::string_view kTimeFormat = "SLURM_TIME_FORMAT=";
constexpr const char* kTimesInSeconds = "SLURM_TIME_FORMAT=%s";

// squeue without the options that the user's environment sets.
Call squeue(const std::vector<std::string>& options) {
    // --array: a line for each task that waits, not one for all of them.
    Call call{
        "squeue", {"--noheader", "--all", "--array"}, {"SQUEUE_", kTimeFormat}, {kTimesInSeconds}};
    call.arguments.insert(call.arguments.end(), options.begin(), options.end());
    return call;
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

// The name of the user, or the number of a user without a name.
std::string own_user() {
    const passwd* user = ::getpwuid(::geteuid());
    return user == nullptr ? std::to_string(::geteuid()) : user->pw_name;
}

// "sbatch: error: why" becomes "why".
std::string without_prefix(std::string line) {
    for (const std::string_view prefix : {"error: ", "fatal: "}) {
        const auto at = line.find(prefix);
        if (at != std::string::npos) return line.substr(at + prefix.size());
    }
    return line;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> all;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) all.push_back(line);
    return all;
}

// This process's environment, "NAME=VALUE" each, without the entries for which this is true.
template <class IsUnwanted>
std::vector<std::string> environment_without(IsUnwanted is_unwanted) {
    std::vector<std::string> kept;
    for (char** entry = environ; *entry != nullptr; ++entry)
        if (!is_unwanted(*entry)) kept.emplace_back(*entry);
    return kept;
}

// What the command prints, if it ends with 0.
sys::Result<std::string> ask(const Call& call) {
    const auto path = launcher::slurm_command(call.name);
    if (!path) return path.error();
    std::vector<std::string> command{*path};
    command.insert(command.end(), call.arguments.begin(), call.arguments.end());
    auto environment = environment_without([&](std::string_view entry) {
        return std::any_of(call.unset.begin(), call.unset.end(),
                           [&](std::string_view name) { return entry.starts_with(name); });
    });
    environment.insert(environment.end(), call.set.begin(), call.set.end());
    auto done = run_program(command, call.input, environment);
    if (!done) return done.error().in(call.name);
    if (done->status == 0) return std::move(done->out);
    const std::string why = slurms_reason(done->err);
    return sys::Error{
        fmt::format("{}: {}", call.name, why.empty() ? fmt::format("exit {}", done->status) : why)};
}

sys::Result<std::vector<std::string>> ask_lines(const Call& call) {
    const auto text = ask(call);
    if (!text) return text.error();
    return lines_of(*text);
}

}  // namespace

// The first line about batchai or an unreachable slurmctld, or else the last error, or else the
// first line.
std::string slurms_reason(const std::string& text) {
    std::istringstream lines(text);
    std::string best;
    for (std::string line; std::getline(lines, line);) {
        if (line.find("unrecognized option '--batchai-job") != std::string::npos)
            return "it does not know --batchai-job: add the line of spank_batchai.so to "
                   "plugstack.conf, or run the job without mounts: --without-plugin";
        if (line.find("Unable to contact slurm controller") != std::string::npos)
            return "Slurm's controller (slurmctld) does not answer: try again later";
        if (line.find("batchai") != std::string::npos) return without_prefix(line);
        if (line.find("error:") != std::string::npos) best = line;
    }
    return without_prefix(best.empty() ? first_line(text) : best);
}

std::vector<Partition> parse_sinfo(const std::string& text) {
    std::vector<Partition> partitions;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const auto first = line.find('|');
        const auto second = line.find('|', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        std::string name = line.substr(0, first);
        const bool is_default = name.ends_with('*');
        if (is_default) name.pop_back();
        auto known = std::find_if(partitions.begin(), partitions.end(),
                                  [&](const Partition& p) { return p.name == name; });
        if (known == partitions.end())
            known = partitions.insert(partitions.end(), {name, is_default, {}, {}});
        const auto third = std::min(line.find('|', second + 1), line.size());
        known->nodes.push_back({line.substr(first + 1, second - first - 1),
                                line.substr(second + 1, third - second - 1)});
        if (third < line.size()) known->time_limit = seconds_of(line.substr(third + 1));
    }
    return partitions;
}

sys::Result<std::vector<Partition>> partitions() {
    const auto text = ask({"sinfo", {"-h", "-N", "-o", "%P|%N|%T|%l"}});
    if (!text) return text.error();
    return parse_sinfo(*text);
}

sys::Result<Partition> find_partition(const std::string& name) {
    const auto all = partitions();
    if (!all) return all.error();
    std::string known;
    for (const auto& partition : *all) {
        if (name.empty() ? partition.is_default : partition.name == name) return partition;
        known += (known.empty() ? "" : ", ") + partition.name;
    }
    if (name.empty())
        return sys::Error{"Slurm has no default partition: give --partition, one of " + known};
    return sys::Error{"partition " + name + ": Slurm has no partition of that name, only " + known};
}

sys::Result<std::vector<std::string>> partition_names() {
    return ask_lines({"sinfo", {"-h", "-a", "-o", "%R"}});
}

bool can_run_jobs(const std::string& state) {
    for (const char* word : {"down", "drain", "fail", "unknown", "maint", "future"})
        if (state.find(word) != state.npos) return false;
    return !state.ends_with('*');  // "*": the node does not answer
}

void SlurmJobs::add(SlurmJob job) {
    std::string text = job.number.text();
    if (job.number.own() > 0) texts_of_own_.emplace(job.number.own(), text);
    jobs_.emplace(std::move(text), std::move(job));
}

std::optional<SlurmJob> SlurmJobs::find(const job::Number& number) const {
    auto found = jobs_.find(number.text());
    if (found == jobs_.end() && number.kind() == job::Number::Kind::job)
        if (const auto text = texts_of_own_.find(number.own()); text != texts_of_own_.end())
            found = jobs_.find(text->second);
    return found == jobs_.end() ? std::nullopt : std::optional(found->second);
}

SlurmJobs parse_squeue_jobs(const std::string& text) {
    SlurmJobs jobs;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        SlurmJob job;
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

sys::Result<SlurmJobs> query_own_jobs() {
    const auto text = ask(squeue_jobs({}));
    if (!text) return text.error();
    return parse_squeue_jobs(*text);
}

sys::Result<std::optional<SlurmJob>> query_job(const job::Number& number) {
    const auto text = ask(squeue_jobs({"--jobs=" + number.text()}));
    if (!text && text.error().message.find("Invalid job id") != std::string::npos)
        return std::optional<SlurmJob>();
    if (!text) return text.error();
    return parse_squeue_jobs(*text).find(number);
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

std::optional<SlurmJob> parse_sacct(const std::string& text, const job::Number& wanted,
                                    double earliest) {
    for (const std::string& line : lines_of(text)) {
        std::array<std::string, 8> field;
        std::istringstream fields(line);
        for (std::string& one : field) std::getline(fields, one, '|');
        const auto& [id, own, state, code, submitted, start, end, partition] = field;
        const auto submit_time = time_of(submitted);
        const bool is_it = wanted.is_task() ? id == wanted.text() : own == wanted.text();
        if (!is_it || !submit_time || *submit_time < earliest) continue;
        SlurmJob job;
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

std::optional<SlurmJob> accounted_job(const job::Number& number, double earliest) {
    const auto text = ask({"sacct",
                           {"--noheader", "--parsable2", "--allocations", "--jobs=" + number.text(),
                            "--format=JobID,JobIDRaw,State,ExitCode,Submit,Start,End,Partition"},
                           {"SACCT_", kTimeFormat},
                           {kTimesInSeconds}});
    return text ? parse_sacct(*text, number, earliest) : std::nullopt;
}

sys::Result<std::string> slurm_configuration() {
    return ask({"scontrol", {"show", "config"}, {kCluster}});
}

std::string value_of(const std::string& config, const std::string& key) {
    std::istringstream lines(config);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t equals = line.find(" = ");
        if (equals != line.npos && line.starts_with(key + " ")) return line.substr(equals + 3);
    }
    return {};
}

sys::Result<std::vector<std::string>> unfinished_jobs() {
    Call call = squeue({"--format=%A"});
    call.unset.push_back(kCluster);
    return ask_lines(call);
}

sys::Result<std::vector<std::string>> nodes_of_job(const job::Number& number) {
    const auto list = ask(squeue({"--jobs=" + number.text(), "--format=%N"}));
    if (!list) return list.error();
    return expand_hosts(first_line(*list));
}

sys::Result<std::vector<std::string>> expand_hosts(const std::string& list) {
    return ask_lines({"scontrol", {"show", "hostnames", list}});
}

std::string short_list(const std::vector<std::string>& names) {
    const std::string all = fmt::format("{}", fmt::join(names, ","));
    const auto text = ask({"scontrol", {"show", "hostlist", all}});
    return text && !text->empty() ? first_line(*text) : all;
}

sys::Result<Finished> run_on_node(const std::string& node, const std::string& partition,
                                  const std::vector<std::string>& command) {
    const auto srun = launcher::slurm_command("srun");
    if (!srun) return srun.error();
    // The command starts two ranks. This little memory is free beside other jobs.
    std::vector<std::string> arguments{"timeout", "-k", "5", "300", *srun};
    arguments.insert(arguments.end(),
                     {"--quiet", "--nodes=1", "--ntasks=1", "--mem=512", "--immediate=30",
                      "--time=5", "--chdir=/", "--input=none", "--job-name=batchai-doctor",
                      "--partition=" + partition, "--nodelist=" + node});
    arguments.insert(arguments.end(), command.begin(), command.end());
    // Not the caller's job, and no options in variables.
    return run_program(
        arguments, {}, environment_without([](std::string_view entry) {
            return (entry.starts_with("SLURM_") && !entry.starts_with("SLURM_CONF=")) ||
                   entry.starts_with("SLURMD_") || entry.starts_with("SRUN_");
        }));
}

std::optional<std::int64_t> own_job_on(const std::string& node) {
    const auto text =
        ask(squeue({"--me", "--states=RUNNING", "--nodelist=" + node, "--format=%A"}));
    return text ? number<std::int64_t>(first_line(*text)) : std::nullopt;
}

OwnUsage parse_own_usage(const std::string& squeue) {
    OwnUsage usage;
    std::istringstream words(squeue);
    std::int64_t nodes = 0;
    for (std::string state; words >> state >> nodes;) {
        ++usage.submitted;
        if (state != "R") continue;
        ++usage.running;
        usage.nodes += nodes;
    }
    return usage;
}

OwnLimits parse_own_limits(const std::string& sacctmgr) {
    OwnLimits limits;
    const auto take = [](std::optional<std::int64_t>& limit, const std::string& text) {
        const auto value = number<std::int64_t>(text);
        if (value && (!limit || *value < *limit)) limit = value;
    };
    for (const std::string& line : lines_of(sacctmgr)) {
        std::istringstream fields(line);
        std::string tres, jobs, submitted;
        std::getline(fields, tres, '|');
        std::getline(fields, jobs, '|');
        std::getline(fields, submitted, '|');
        take(limits.running, jobs);
        take(limits.submitted, submitted);
        std::istringstream resources(tres);
        for (std::string item; std::getline(resources, item, ',');)
            if (item.starts_with("node=")) take(limits.nodes, item.substr(5));
    }
    return limits;
}

sys::Result<OwnUsage> own_usage() {
    const auto text = ask(squeue({"--me", "--format=%t %D"}));
    if (!text) return text.error();
    return parse_own_usage(*text);
}

sys::Result<OwnLimits> own_limits() {
    const auto text = ask({"sacctmgr",
                           {"--noheader", "--parsable2", "show", "assoc", "where",
                            "user=" + own_user(), "format=GrpTRES,MaxJobs,MaxSubmitJobs"}});
    if (!text) return text.error();
    return parse_own_limits(*text);
}

NodeAddresses parse_node_addresses(const std::string& scontrol_show_node) {
    NodeAddresses addresses;
    std::istringstream words(scontrol_show_node);
    for (std::string word; words >> word;) {
        if (word.starts_with("NodeName=")) addresses.emplace_back(word.substr(9), "");
        if (word.starts_with("NodeAddr=") && !addresses.empty() && addresses.back().second.empty())
            addresses.back().second = word.substr(9);
    }
    return addresses;
}

sys::Result<NodeAddresses> node_addresses(const std::vector<std::string>& names) {
    if (names.empty()) return NodeAddresses{};
    std::string list;
    for (const auto& name : names) list += (list.empty() ? "" : ",") + name;
    const auto text = ask({"scontrol", {"show", "node", "-o", list}, {kCluster}});
    if (!text) return text.error();
    return parse_node_addresses(*text);
}

std::vector<std::string> sbatch_arguments(const Submission& submission) {
    // --export=ALL overrides SBATCH_EXPORT=NONE of the user's environment. With NONE, Slurm does
    // not pass the plugin's options to the batch step.
    std::vector<std::string> arguments{"--parsable", fmt::format("--nodes={}", submission.nodes),
                                       "--export=ALL",
                                       "--open-mode=append",  // the job may be requeued
                                       "--job-name=" + submission.job_name};
    if (!submission.without_plugin) arguments.push_back("--batchai-job=" + submission.job_file);
    // The service ran one job per node. A site or user who shares nodes sets this option.
    const auto& given = submission.pass_through;
    if (submission.exclusive &&
        std::none_of(given.begin(), given.end(), [](const std::string& option) {
            return option == "--oversubscribe" || option == "-s";
        }))
        arguments.push_back("--exclusive");
    if (!submission.output.empty()) arguments.push_back("--output=" + submission.output);
    if (!submission.partition.empty()) arguments.push_back("--partition=" + submission.partition);
    if (!submission.gres.empty()) arguments.push_back("--gres=" + submission.gres);
    if (!submission.comment.empty()) arguments.push_back("--comment=" + submission.comment);
    arguments.insert(arguments.end(), submission.pass_through.begin(),
                     submission.pass_through.end());
    return arguments;
}

std::string batch_script(const Submission& submission) {
    return "#!/bin/bash\nexec " + shell_quoted(submission.launcher) +
           (submission.without_plugin
                ? " --without-plugin --job " + shell_quoted(submission.job_file)
                : " --job \"$BATCHAI_JOB_FILE\"") +
           "\n";
}

sys::Result<std::int64_t> submit(const Submission& submission) {
    // These variables of an array task would make the new job look like a task of that array.
    const auto text = ask(
        {"sbatch", sbatch_arguments(submission), {"SLURM_ARRAY_"}, {}, batch_script(submission)});
    if (!text) return text.error();
    // "123" or "123;cluster"
    const auto id = number<std::int64_t>(text->substr(0, text->find_first_of(";\n")));
    if (!id) return sys::Error{"sbatch: no job number in its answer: " + first_line(*text)};
    return *id;
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

}  // namespace batchai::cli

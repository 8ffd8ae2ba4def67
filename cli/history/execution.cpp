// SPDX-License-Identifier: Apache-2.0
#include "cli/history/execution.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace batchai::cli {
namespace {

using JobState = Execution::State;

constexpr std::array<std::pair<JobState, const char*>, 5> kNames{
    {{JobState::queued, "queued"},
     {JobState::running, "running"},
     {JobState::terminating, "terminating"},
     {JobState::succeeded, "succeeded"},
     {JobState::failed, "failed"}}};

template <std::size_t N>
bool one_of(const std::string& text, const std::array<std::string_view, N>& names) {
    return std::find(names.begin(), names.end(), text) != names.end();
}

constexpr std::array<std::string_view, 7> kQueued{"PENDING",      "CONFIGURING", "REQUEUED",
                                                  "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT",
                                                  "RESV_DEL_HOLD"};
constexpr std::array<std::string_view, 7> kOver{"COMPLETED", "FAILED",   "CANCELLED", "TIMEOUT",
                                                "NODE_FAIL", "DEADLINE", "BOOT_FAIL"};
constexpr std::array<std::string_view, 4> kOverToo{"OUT_OF_MEMORY", "PREEMPTED", "REVOKED",
                                                   "LAUNCH_FAILED"};

const char* kNonZero = "Job failed with non-zero exit code";

// Each node's failure, then the launcher's unless a node has reported the same message.
std::vector<JobError> failures(const Evidence& evidence) {
    std::vector<JobError> errors;
    const auto said = [&errors](const std::string& message) {
        return std::any_of(errors.begin(), errors.end(),
                           [&](const JobError& e) { return e.message == message; });
    };
    // The launcher's event has no node. result.json may name the node of the same failure.
    const auto node_of = [&evidence](const job::Event& event) -> std::string {
        if (event.node != job::kNoNode) return event.node;
        const auto& result = evidence.result;
        return result && result->failure == event.message ? result->node : "";
    };
    for (const auto& event : evidence.events)
        if (event.kind == job::Event::Kind::failed && !said(event.message))
            errors.push_back(
                {event.code.empty() ? "JobFailed" : event.code, event.message, node_of(event)});
    if (evidence.result && !evidence.result->failure.empty() && !said(evidence.result->failure))
        errors.push_back({"JobFailed", evidence.result->failure, evidence.result->node});
    return errors;
}

// The failure by Slurm's state of the job, for jobs whose record has none.
std::optional<JobError> slurm_failure(const std::string& state) {
    if (state == "CANCELLED")
        return JobError{"JobTerminated", "The specified job has been terminated by the user", ""};
    if (state == "TIMEOUT" || state == "DEADLINE")
        return JobError{"JobTimedOut", "The job exceeded its time limit in Slurm", ""};
    if (state == "NODE_FAIL" || state == "BOOT_FAIL")
        return JobError{
            "JobNodeFailed",
            "A node of the job failed or no longer answered Slurm: submit the job again", ""};
    if (state == "OUT_OF_MEMORY")
        return JobError{"JobOutOfMemory",
                        "The job used more memory than Slurm gave it: ask for more with --mem", ""};
    if (state == "PREEMPTED")
        return JobError{"JobPreempted",
                        "Slurm ended the job for one with a higher priority: submit it again", ""};
    if (state == "FAILED" || state == "COMPLETED") return std::nullopt;
    return JobError{"JobFailed", "Slurm ended the job: " + state, ""};
}

Execution finished(const Evidence& evidence, int exit_code) {
    Execution execution;
    execution.exit_code = exit_code;
    execution.state = exit_code == 0 ? JobState::succeeded : JobState::failed;
    if (evidence.result) {
        execution.start_time = evidence.result->start_time;
        execution.end_time = evidence.result->end_time;
    }
    if (execution.state == JobState::failed) {
        execution.errors = failures(evidence);
        if (execution.errors.empty()) execution.errors.push_back({"JobFailed", kNonZero, ""});
    }
    return execution;
}

Execution lost(const Evidence& evidence, const std::string& why) {
    Execution execution = finished(evidence, 1);
    execution.exit_code.reset();
    if (failures(evidence).empty()) execution.errors = {{"JobFailed", why, ""}};
    return execution;
}

// Slurm gives a job that was cancelled in the queue the same start and end.
bool has_started(const Evidence& evidence, const slurm::Job& slurm) {
    return evidence.result || !evidence.events.empty() || slurm.state != "CANCELLED" ||
           slurm.start_time != slurm.end_time;
}

Execution judge_slurm(const Evidence& evidence, const slurm::Job& slurm) {
    Execution execution;
    if (one_of(slurm.state, kOver) || one_of(slurm.state, kOverToo)) {
        int code = slurm.exit_code;
        if (code == 0 && evidence.result) code = evidence.result->exit_code;
        execution = finished(evidence, code);
        if (auto verdict = slurm_failure(slurm.state)) {
            execution.state = JobState::failed;
            execution.exit_code.reset();
            execution.errors = failures(evidence);
            execution.errors.insert(execution.errors.begin(), std::move(*verdict));
        }
        execution.end_time = slurm.end_time;
    } else if (!one_of(slurm.state, kQueued)) {
        execution.state = JobState::running;
    } else if (slurm.reason != "None") {
        execution.waits_for = slurm.reason;
    }
    if (evidence.terminating && !execution.over()) execution.state = JobState::terminating;
    if (execution.state != JobState::queued && slurm.start_time && has_started(evidence, slurm))
        execution.start_time = slurm.start_time;
    return execution;
}

}  // namespace

const char* state_name(JobState state) {
    for (const auto& [value, name] : kNames)
        if (value == state) return name;
    return "failed";
}

std::optional<JobState> state_from_name(const std::string& name) {
    for (const auto& [value, text] : kNames)
        if (name == text) return value;
    return std::nullopt;
}

Execution judge(const Evidence& evidence) {
    if (evidence.slurm) {
        Execution execution = judge_slurm(evidence, *evidence.slurm);
        execution.slurm = evidence.slurm;
        return execution;
    }
    if (evidence.local && evidence.local_alive) {
        Execution execution;
        execution.state = evidence.terminating ? JobState::terminating : JobState::running;
        if (!evidence.events.empty()) execution.start_time = evidence.events.front().time;
        return execution;
    }
    const bool succeeded = evidence.result && evidence.result->exit_code == 0;
    if (evidence.terminating && !succeeded) {
        Execution execution = evidence.result ? finished(evidence, 1) : Execution{};
        execution.state = JobState::failed;
        execution.exit_code.reset();
        execution.errors = {*slurm_failure("CANCELLED")};
        return execution;
    }
    if (evidence.result) return finished(evidence, evidence.result->exit_code);
    return lost(evidence, evidence.local ? "The launcher ended without leaving a result"
                                         : "Slurm no longer knows the job and it left no result");
}

}  // namespace batchai::cli

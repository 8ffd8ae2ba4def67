// SPDX-License-Identifier: Apache-2.0
#include "cli/job/job_state.hpp"

#include <algorithm>

#include "cli/job/job_document.hpp"
#include "job/record.hpp"
#include "slurm/jobs.hpp"
#include "sys/clock.hpp"
#include "sys/file_lock.hpp"

namespace batchai::cli {
namespace {

constexpr double kClocksDiffer = 60;  // seconds

// The job's part of Slurm's answer about all jobs, or else an answer about this job alone.
sys::Result<std::optional<slurm::Job>> ask_slurm(const JobRow& row, const OwnJobs* all) {
    if (all == nullptr) return slurm::query_job(row.number);
    const auto& jobs = all->get();
    if (!jobs) return jobs.error();
    return jobs->find(row.number);
}

sys::Result<Evidence> evidence_of(const Store& store, const JobRow& row, const OwnJobs* all) {
    const std::string record = store.record(row.identity.uuid);
    Evidence evidence;
    evidence.local = row.local;
    evidence.terminating = row.terminating;
    // The result is read last: a launcher that has ended has left it.
    if (row.local) {
        const auto alive = sys::FileLock::is_held(store.lock(row.identity.uuid));
        if (!alive) return alive.error();
        evidence.local_alive = *alive;
        evidence.result = job::read_result(record);
    } else {
        auto slurm = ask_slurm(row, all);
        evidence.result = job::read_result(record);
        // The job may seem to be submitted before its row was made: Slurm's times are whole
        // seconds, and the clocks of two machines differ.
        if (slurm && !*slurm && !evidence.result)
            slurm = slurm::accounted_job(row.number, row.created - kClocksDiffer);
        if (slurm)
            evidence.slurm = *std::move(slurm);
        else if (!evidence.result)
            return slurm.error();
    }
    evidence.events = job::read_events(record);
    return evidence;
}

// Takes over what Slurm says about a task: its own number, which it has from its start on, and the
// array of a task that an older release of batchai has recorded.
void learn_number(JobRow& row, const std::optional<slurm::Job>& slurm) {
    if (!slurm || !slurm->number.is_task()) return;
    if (slurm->number.own() > 0 || !row.number.is_task()) row.number = slurm->number;
}

// Asks Slurm only about a job whose end is not in the history.
sys::Result<Execution> stands(const Store& store, JobRow& row, const OwnJobs* all) {
    if (row.outcome) return *row.outcome;
    if (!row.number && !row.local) {
        row.number = job::read_number(store.record(row.identity.uuid));
        if (!row.number) return Execution{};  // sbatch has not returned its number yet
    }
    const auto evidence = evidence_of(store, row, all);
    if (!evidence) return evidence.error();
    learn_number(row, evidence->slurm);
    Execution execution = judge(*evidence);
    // Slurm's times are whole seconds, so a start could come before the submission.
    if (execution.start_time) execution.start_time = std::max(*execution.start_time, row.created);
    if (execution.end_time)
        execution.end_time = std::max(*execution.end_time, execution.start_time.value_or(0));
    return execution;
}

nlohmann::json made_document(const Store& store, const JobRow& row, const Execution& execution) {
    const auto snapshot = read_snapshot(store, row);
    const auto events = job::read_events(store.record(row.identity.uuid));
    return job_document(row, execution, snapshot ? *snapshot : nlohmann::json(),
                        preparation_of(events, execution, sys::wall_clock()));
}

// Puts the outcome of an ended job into the row. False: the job has not ended, or the row has it.
bool take_end(const Store& store, JobRow& row, const Execution& execution) {
    if (!execution.over() || row.kept) return false;
    row.outcome = execution;
    const auto document = made_document(store, row, execution);
    row.kept = KeptJob{tool_of(document), node_count_of(document), printed_json(document)};
    return true;
}

// If the home directory is full or read-only, the command still answers. The next call judges the
// record again.
void keep(Store& store, const std::vector<const JobRow*>& ended,
          const std::vector<const JobRow*>& renumbered) {
    auto done = store.history.set_numbers(renumbered);
    if (done) done = store.history.keep(ended);
    if (!done) note(done.error().message + "; the ends of jobs are not recorded there");
}

}  // namespace

const sys::Result<slurm::Jobs>& OwnJobs::get() const {
    if (!jobs_) jobs_ = slurm::query_own_jobs();
    return *jobs_;
}

sys::Result<Execution> execution_of(Store& store, JobRow& row) {
    std::vector<const JobRow*> ended, renumbered;
    const job::Number before = row.number;
    auto execution = stands(store, row, nullptr);
    if (row.number != before) renumbered.push_back(&row);
    if (execution && take_end(store, row, *execution)) ended.push_back(&row);
    keep(store, ended, renumbered);
    return execution;
}

sys::Result<std::vector<Execution>> executions_of(Store& store, std::vector<JobRow>& rows) {
    std::vector<Execution> executions;
    std::vector<const JobRow*> ended, renumbered;
    const OwnJobs all;
    for (JobRow& row : rows) {
        const job::Number before = row.number;
        const auto execution = stands(store, row, &all);
        if (row.number != before) renumbered.push_back(&row);
        if (!execution) return execution.error();
        if (take_end(store, row, *execution)) ended.push_back(&row);
        executions.push_back(*execution);
    }
    keep(store, ended, renumbered);
    return executions;
}

nlohmann::json describe(const Store& store, const JobRow& row, const Execution& execution) {
    if (!row.kept || row.kept->document.empty()) return made_document(store, row, execution);
    auto document = nlohmann::json::parse(row.kept->document, nullptr, false);
    return document.is_object() ? document : made_document(store, row, execution);
}

std::string document_text(const Store& store, JobRow& row, const Execution& execution) {
    if (row.kept && !row.kept->document.empty()) return std::move(row.kept->document);
    return printed_json(made_document(store, row, execution));
}

JobLine line_of(const Store& store, const JobRow& row, const Execution& execution) {
    if (row.kept)
        return {row.identity, row.number, row.kept->tool, row.kept->nodes,
                execution,    "",         row.deleting};
    const auto document = made_document(store, row, execution);
    return {row.identity,      row.number,
            tool_of(document), node_count_of(document),
            execution,         preparing_text(document["slurm"]["preparation"]),
            row.deleting};
}

sys::Result<Execution> JobWatch::now() {
    auto execution = execution_of(job_.store, job_.row);
    if (!execution && !last_) return execution;
    if (!execution && !told_) note(execution.error().message + "; waiting for it to answer");
    told_ = !execution;
    if (execution) last_ = *std::move(execution);
    return *last_;
}

}  // namespace batchai::cli

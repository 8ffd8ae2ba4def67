// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/job/jobs.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <unordered_set>

#include "job/record.hpp"
#include "job/snapshot.hpp"
#include "job/spec.hpp"
#include "launcher/cli/slurm/slurm.hpp"
#include "sys/file.hpp"

namespace batchai::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kClocksDiffer = 60;  // seconds

std::int64_t recorded_slurm_id(const std::string& record) {
    const auto text = sys::read_file(record + "/slurm_job_id", job::kMaxJobBytes);
    std::int64_t id = 0;
    if (text) std::from_chars(text->data(), text->data() + text->size(), id);
    return id;
}

double modification_time(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return 0;
    return static_cast<double>(status.st_mtim.tv_sec) +
           static_cast<double>(status.st_mtim.tv_nsec) * 1e-9;
}

// A record directory that Slurm ran and that the history does not hold becomes a row.
sys::Result<void> adopt(Store& store, const std::string& uuid) {
    const std::string record = store.record(uuid);
    JobRow row;
    row.slurm_id = recorded_slurm_id(record);
    if (row.slurm_id == 0) return {};
    row.created = modification_time(store.snapshot(uuid));
    row.identity.uuid = uuid;
    const auto spec = read_spec(store, row);
    if (!spec || !spec->identity) return {};  // not ours to judge: leave it alone
    row.identity = *spec->identity;
    row.identity.uuid = uuid;
    const auto added = store.history.add_job(row, true);
    if (!added) return added.error();
    return {};
}

sys::Result<void> adopt_all(Store& store) {
    auto known = store.history.jobs({});
    if (!known) return known.error();
    std::unordered_set<std::string> uuids;
    for (const JobRow& row : *known) uuids.insert(row.identity.uuid);
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(store.directory + "/jobs", error)) {
        const std::string uuid = entry.path().filename();
        if (uuids.count(uuid) > 0) continue;
        if (auto done = adopt(store, uuid); !done) return done.error();
    }
    return {};
}

bool launcher_alive(const std::string& snapshot) {
    const sys::UniqueFd file(::open(snapshot.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    return file && ::flock(file.get(), LOCK_SH | LOCK_NB) != 0;
}

// One job of all that Slurm was asked for, or an answer of its own.
sys::Result<std::optional<SlurmJob>> ask_slurm(const JobRow& row, const OwnJobs* all) {
    if (all == nullptr) return query_job(row.slurm_id);
    const auto& jobs = all->get();
    if (!jobs) return jobs.error();
    const auto found = jobs->find(row.slurm_id);
    return found == jobs->end() ? std::optional<SlurmJob>() : std::optional(found->second);
}

sys::Result<Evidence> evidence_of(const Store& store, const JobRow& row, const OwnJobs* all) {
    const std::string record = store.record(row.identity.uuid);
    Evidence evidence;
    evidence.result = job::read_result(record);
    evidence.local = row.local;
    evidence.terminating = row.terminating;
    if (row.local) evidence.local_alive = launcher_alive(record + "/job.json");
    if (!row.local) {
        auto slurm = ask_slurm(row, all);
        // Slurm's times are whole seconds, and clocks differ.
        if (slurm && !*slurm) slurm = accounted_job(row.slurm_id, row.created - kClocksDiffer);
        if (slurm)
            evidence.slurm = *std::move(slurm);
        else if (!evidence.result)
            return slurm.error();
    }
    evidence.events = job::read_events(record);
    return evidence;
}

}  // namespace

const sys::Result<SlurmJobs>& OwnJobs::get() const {
    if (!jobs_) jobs_ = query_own_jobs();
    return *jobs_;
}

sys::Result<Store> open_store() {
    const auto directory = job::data_directory();
    if (!directory) return directory.error();
    std::error_code error;
    if (fs::create_directories(*directory, error))
        fs::permissions(*directory, fs::perms::owner_all, error);
    if (error) return sys::Error{*directory + ": " + error.message()};
    auto history = History::open(*directory);
    if (!history) return history.error();
    return Store{*directory, *std::move(history)};
}

sys::Result<std::vector<JobRow>> find_jobs(Store& store, const JobFilter& filter) {
    if (auto done = adopt_all(store); !done) return done.error();
    return store.history.jobs(filter);
}

sys::Result<JobRow> find_job(Store& store, const Scope& scope, const std::string& name) {
    auto named =
        find_jobs(store, {scope.resource_group, scope.workspace, scope.experiment, name, ""});
    if (!named) return named.error();
    if (!named->empty()) return named->back();
    auto numbered = store.history.jobs({"", "", "", "", name});
    if (!numbered) return numbered.error();
    if (!numbered->empty()) return numbered->back();
    return sys::Error{"job " + name + ": not found in experiment " + scope.experiment +
                      " of workspace " + scope.workspace + " of group " + scope.resource_group +
                      ": see 'batchai job list'"};
}

sys::Result<Execution> execution_of(Store& store, JobRow& row, const OwnJobs* all) {
    if (row.outcome) return *row.outcome;
    if (row.slurm_id == 0 && !row.local) {
        row.slurm_id = recorded_slurm_id(store.record(row.identity.uuid));
        if (row.slurm_id == 0) return Execution{};  // about to be submitted: queued
    }
    const auto evidence = evidence_of(store, row, all);
    if (!evidence) return evidence.error();
    Execution execution = judge(*evidence);
    // Slurm's times are whole seconds: nothing starts before it was submitted.
    if (execution.start_time) execution.start_time = std::max(*execution.start_time, row.created);
    if (execution.end_time)
        execution.end_time = std::max(*execution.end_time, execution.start_time.value_or(0));
    if (execution.over()) {
        if (auto done = store.history.set_outcome(row.identity.uuid, execution); !done)
            return done.error();
        row.outcome = execution;
    }
    return execution;
}

sys::Result<Execution> JobWatch::now() {
    auto execution = execution_of(job_.store, job_.row);
    if (!execution && !last_) return execution;
    if (!execution && !told_) note(execution.error().message + "; waiting for it to answer");
    told_ = !execution;
    if (execution) last_ = *std::move(execution);
    return *last_;
}

sys::Result<void> remove_job(Store& store, const JobRow& row) {
    const std::string record = store.record(row.identity.uuid);
    std::error_code error;
    fs::remove_all(record, error);
    if (error) return sys::Error{record + ": " + error.message()};
    return store.history.remove_job(row.identity.uuid);
}

sys::Result<nlohmann::json> read_snapshot(const Store& store, const JobRow& row) {
    const std::string file = store.snapshot(row.identity.uuid);
    const auto text = sys::read_file(file, job::kMaxJobBytes);
    if (!text) return text.error();
    auto document = nlohmann::json::parse(*text, nullptr, false, true);
    if (document.is_discarded()) return sys::Error{file + ": no JSON any more"};
    return document;
}

sys::Result<job::JobSpec> read_spec(const Store& store, const JobRow& row) {
    const std::string file = store.snapshot(row.identity.uuid);
    const auto text = sys::read_file(file, job::kMaxJobBytes);
    if (!text) return text.error();
    auto parsed = job::parse_job(*text, file);
    if (!parsed.spec)
        return sys::Error{parsed.findings.empty() ? file + ": no job file any more"
                                                  : parsed.findings.front().text()};
    return *std::move(parsed.spec);
}

sys::Result<sys::UniqueFd> lock_record(const std::string& snapshot) {
    sys::UniqueFd file(::open(snapshot.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!file) return sys::errno_error(snapshot);
    if (::flock(file.get(), LOCK_EX) != 0) return sys::errno_error("locking " + snapshot);
    return file;
}

}  // namespace batchai::cli

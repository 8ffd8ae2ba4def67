// SPDX-License-Identifier: Apache-2.0
#include "cli/job/jobs.hpp"

#include <sys/stat.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <tuple>
#include <unordered_set>

#include "cli/job/job_end.hpp"
#include "job/record.hpp"
#include "job/snapshot.hpp"
#include "job/spec.hpp"
#include "slurm/jobs.hpp"
#include "sys/directories.hpp"
#include "sys/file.hpp"
#include "sys/shell.hpp"

namespace batchai::cli {
namespace {

namespace fs = std::filesystem;

double modification_time(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return 0;
    return static_cast<double>(status.st_mtim.tv_sec) +
           static_cast<double>(status.st_mtim.tv_nsec) * 1e-9;
}

// The job's snapshot. A task of an array has one of its own once it has started; before that it is
// the array's.
std::string snapshot_of(const Store& store, const JobRow& row) {
    std::string own = store.snapshot(row.identity.uuid);
    return row.number.is_task() && sys::is_missing(own) ? store.snapshot(whole_uuid(row)) : own;
}

// The row of a job with that record and number. Nothing: the snapshot has no identity.
std::optional<JobRow> row_of(const Store& store, const std::string& uuid,
                             const job::Number& number) {
    JobRow row;
    row.number = number;
    row.identity.uuid = uuid;
    const auto spec = read_spec(store, row);
    if (!spec || !spec->identity) return std::nullopt;
    row.identity = *spec->identity;
    row.identity.uuid = uuid;
    row.created = modification_time(store.snapshot(whole_uuid(row)));
    return row;
}

// Records for which sbatch was asked to submit a job, and whose number no node has written yet.
class Submissions {
  public:
    void add(const std::string& uuid) { uuids_.insert(uuid); }

    // The rows of those jobs that Slurm knows, except known ones.
    std::vector<JobRow> find(const Store& store, const std::unordered_set<std::string>& known) {
        std::vector<JobRow> rows;
        if (uuids_.empty()) return rows;
        const auto jobs = slurm::query_comments();
        if (!jobs) return rows;  // a later call asks again
        answered_ = true;
        for (const auto& [number, uuid] : *jobs) {
            if (uuids_.count(uuid) == 0) continue;
            named_.insert(uuid);
            // batchai knows a heterogeneous job by its first component.
            if (number.is_component() && number.index() != 0) continue;
            const job::Number known_as =
                number.is_component() ? job::Number::of_job(number.whole()) : number;
            const std::string record =
                number.is_task() ? uuid + "-" + std::to_string(number.index()) : uuid;
            if (known.count(record) > 0) continue;
            if (auto row = row_of(store, record, known_as)) rows.push_back(*std::move(row));
        }
        return rows;
    }

    // Call it when the rows are in the history. sbatch tries for some minutes to submit a job. A
    // record that no job names after an hour is of a submission that failed.
    void forget(const Store& store) const {
        constexpr std::chrono::hours kLongestSearch{1};
        if (!answered_) return;
        for (const std::string& uuid : uuids_) {
            const fs::path mark = fs::path(store.record(uuid)) / job::kSubmittingFile;
            std::error_code error;
            const auto made = fs::last_write_time(mark, error);
            const bool failed = !error && made < fs::file_time_type::clock::now() - kLongestSearch;
            if (named_.count(uuid) > 0 || failed) fs::remove(mark, error);
        }
    }

  private:
    std::unordered_set<std::string> uuids_;
    std::unordered_set<std::string> named_;
    bool answered_ = false;
};

// Adds a row to the history for each record that has none.
sys::Result<void> adopt_all(Store& store) {
    auto known = store.history.uuids();
    if (!known) return known.error();
    std::vector<JobRow> found;
    Submissions submissions;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(store.directory + "/jobs", error)) {
        const std::string uuid = entry.path().filename();
        if (known->count(uuid) > 0) continue;
        if (const auto number = job::read_number(entry.path())) {
            if (auto row = row_of(store, uuid, number)) found.push_back(*std::move(row));
            known->insert(uuid);
        } else if (sys::is_regular_file(entry.path() / job::kSubmittingFile)) {
            submissions.add(uuid);
        }
    }
    for (JobRow& row : submissions.find(store, *known)) {
        if (!row.number.is_task())  // if the history is lost, the record has the number
            (void)job::write_number(store.record(row.identity.uuid), row.number);
        found.push_back(std::move(row));
    }
    if (const auto done = store.history.adopt(found); !done)
        note(done.error().message + "; jobs of sbatch are not added to it");
    else
        submissions.forget(store);
    return {};
}

// Of the jobs that have a name or number, oldest first: the newest, or all tasks of its array.
void keep_newest(std::vector<JobRow>& rows) {
    const std::string whole = whole_uuid(rows.back());
    std::erase_if(rows, [&whole](const JobRow& row) { return whole_uuid(row) != whole; });
    std::sort(rows.begin(), rows.end(),
              [](const JobRow& a, const JobRow& b) { return a.number.index() < b.number.index(); });
}

// Where a job of that name is, for a search in another scope.
std::string place_of(const JobRow& row, const Scope& scope) {
    const auto& identity = row.identity;
    std::string options;
    for (const auto& [option, own, asked] :
         {std::tuple{"-g", identity.resource_group, scope.resource_group},
          {"-w", identity.workspace, scope.workspace},
          {"-e", identity.experiment, scope.experiment}})
        if (own != asked) options += fmt::format(" {} {}", option, sys::shell_quoted(own));
    return fmt::format("; experiment {} has one: give{}", identity.experiment, options);
}

sys::Error not_found(Store& store, const Scope& scope, const std::string& name) {
    const std::string base = name.substr(0, name.find('/'));
    std::string where = ": see 'batchai job list'";
    if (const auto elsewhere = store.history.jobs({"", "", "", base, "", false});
        elsewhere && !elsewhere->empty())
        where = place_of(elsewhere->back(), scope);
    else if (const auto number = job::parse_number(name))
        if (const auto job = slurm::query_job(*number); job && *job)
            return sys::Error{
                "job " + name +
                ": Slurm has it, but batchai has no record of it: it was submitted without a job "
                "file, or has a comment of its own and has not started yet"};
    return sys::Error{
        fmt::format("job {}: not found in experiment {} of workspace {} of group {}{}", name,
                    scope.experiment, scope.workspace, scope.resource_group, where)};
}

}  // namespace

sys::Result<Store> open_store() {
    const auto directory = job::data_directory();
    if (!directory) return directory.error();
    if (auto made = sys::make_directories(*directory, 0700); !made) return made.error();
    auto history = History::open(*directory);
    if (!history) return history.error();
    Store store{*directory, *std::move(history)};
    finish_deletions(store);
    return store;
}

sys::Result<std::vector<JobRow>> find_jobs(Store& store, const JobFilter& filter) {
    if (auto done = adopt_all(store); !done) return done.error();
    return store.history.jobs(filter);
}

sys::Result<FoundJobs> find_named(Store& store, const Scope& scope, const std::string& name) {
    const std::size_t slash = name.find('/');
    auto rows = find_jobs(store, {scope.resource_group, scope.workspace, scope.experiment,
                                  name.substr(0, slash), "", true});
    if (!rows) return rows.error();
    std::optional<std::int64_t> index;
    if (slash != name.npos) index = job::parse_index(name.substr(slash + 1));
    bool is_whole = !index;
    if (rows->empty() && slash == name.npos) {
        rows = store.history.jobs({"", "", "", "", name, true});
        if (!rows) return rows.error();
        if (!rows->empty()) {
            // A number that is an array's and its last task's means the array.
            const job::Number& last = rows->back().number;
            is_whole = name == last.whole_text() || name == whole_uuid(rows->back());
            if (!is_whole && last.is_task()) index = last.index();
        }
    }
    if (rows->empty()) return not_found(store, scope, name);
    keep_newest(*rows);
    const bool is_array = rows->back().number.is_task();
    if (index) {
        if (!is_array)
            return sys::Error{"job " + name + ": " + rows->back().identity.name +
                              " is not a job array and has no tasks"};
        std::erase_if(*rows, [&](const JobRow& row) { return row.number.index() != *index; });
        if (rows->empty())
            return sys::Error{"job " + name +
                              ": the array has no such task: see 'batchai job list'"};
    }
    return FoundJobs{*std::move(rows), is_array && is_whole};
}

sys::Result<void> remove_job(Store& store, const JobRow& row) {
    const std::string record = store.record(row.identity.uuid);
    std::error_code error;
    fs::remove_all(record, error);
    if (error) return sys::Error{record + ": " + error.message()};
    if (auto done = store.history.remove_job(row.identity.uuid); !done || !row.number.is_task())
        return done;
    // The array's record goes with its last task.
    const auto others = store.history.jobs({"", "", "", "", whole_uuid(row), false});
    if (others && others->empty()) fs::remove_all(store.record(whole_uuid(row)), error);
    return {};
}

sys::Result<nlohmann::json> read_snapshot(const Store& store, const JobRow& row) {
    const std::string file = snapshot_of(store, row);
    const auto text = sys::read_file(file, job::kMaxJobBytes);
    if (!text) return text.error();
    auto document = nlohmann::json::parse(*text, nullptr, false, true);
    if (document.is_discarded()) return sys::Error{file + ": is not JSON any more"};
    return document;
}

sys::Result<job::JobSpec> read_spec(const Store& store, const JobRow& row) {
    const std::string file = snapshot_of(store, row);
    const auto text = sys::read_file(file, job::kMaxJobBytes);
    if (!text) return text.error();
    auto parsed = job::parse_job(*text, file);
    for (const auto& finding : parsed.findings)
        if (finding.severity == job::Finding::Severity::error) return sys::Error{finding.text()};
    if (!parsed.spec) return sys::Error{file + ": is not a job file any more"};
    return *std::move(parsed.spec);
}

}  // namespace batchai::cli

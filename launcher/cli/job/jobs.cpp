// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/job/jobs.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <charconv>
#include <filesystem>
#include <optional>

#include "job/snapshot.hpp"
#include "job/spec.hpp"
#include "launcher/cli/job/job_end.hpp"
#include "sys/directories.hpp"
#include "sys/file.hpp"

namespace batchai::cli {
namespace {

namespace fs = std::filesystem;

double modification_time(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return 0;
    return static_cast<double>(status.st_mtim.tv_sec) +
           static_cast<double>(status.st_mtim.tv_nsec) * 1e-9;
}

// The row of a record directory of a Slurm job. Nothing: the record has no Slurm job or no
// identity.
std::optional<JobRow> row_of_record(const Store& store, const std::string& uuid) {
    const std::string record = store.record(uuid);
    JobRow row;
    row.slurm_id = recorded_slurm_id(record);
    if (row.slurm_id == 0) return std::nullopt;
    row.created = modification_time(store.snapshot(uuid));
    row.identity.uuid = uuid;
    const auto spec = read_spec(store, row);
    if (!spec || !spec->identity) return std::nullopt;
    row.identity = *spec->identity;
    row.identity.uuid = uuid;
    return row;
}

// Adds a row to the history for each record that has none.
sys::Result<void> adopt_all(Store& store) {
    const auto known = store.history.uuids();
    if (!known) return known.error();
    std::vector<JobRow> found;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(store.directory + "/jobs", error)) {
        const std::string uuid = entry.path().filename();
        if (known->count(uuid) > 0) continue;
        if (auto row = row_of_record(store, uuid)) found.push_back(*std::move(row));
    }
    if (const auto done = store.history.adopt(found); !done)
        note(done.error().message + "; jobs of sbatch are not added to it");
    return {};
}

}  // namespace

std::int64_t recorded_slurm_id(const std::string& record) {
    const auto text = sys::read_file(record + "/slurm_job_id", job::kMaxJobBytes);
    std::int64_t id = 0;
    if (text) std::from_chars(text->data(), text->data() + text->size(), id);
    return id;
}

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

sys::Result<JobRow> find_job(Store& store, const Scope& scope, const std::string& name) {
    auto named =
        find_jobs(store, {scope.resource_group, scope.workspace, scope.experiment, name, "", true});
    if (!named) return named.error();
    if (!named->empty()) return named->back();
    auto numbered = store.history.jobs({"", "", "", "", name, true});
    if (!numbered) return numbered.error();
    if (!numbered->empty()) return numbered->back();
    return sys::Error{"job " + name + ": not found in experiment " + scope.experiment +
                      " of workspace " + scope.workspace + " of group " + scope.resource_group +
                      ": see 'batchai job list'"};
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
    if (document.is_discarded()) return sys::Error{file + ": is not JSON any more"};
    return document;
}

sys::Result<job::JobSpec> read_spec(const Store& store, const JobRow& row) {
    const std::string file = store.snapshot(row.identity.uuid);
    const auto text = sys::read_file(file, job::kMaxJobBytes);
    if (!text) return text.error();
    auto parsed = job::parse_job(*text, file);
    for (const auto& finding : parsed.findings)
        if (finding.severity == job::Finding::Severity::error) return sys::Error{finding.text()};
    if (!parsed.spec) return sys::Error{file + ": is not a job file any more"};
    return *std::move(parsed.spec);
}

sys::Result<sys::UniqueFd> lock_record(const std::string& snapshot) {
    sys::UniqueFd file(::open(snapshot.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!file) return sys::errno_error(snapshot);
    if (::flock(file.get(), LOCK_EX) != 0) return sys::errno_error("locking " + snapshot);
    return file;
}

}  // namespace batchai::cli

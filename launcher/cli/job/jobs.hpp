// SPDX-License-Identifier: Apache-2.0
//
// The user's jobs, from rows of the history and record directories. A job of plain `sbatch
// --batchai-job` has a record directory only; find_jobs and find_job add it to the history.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "job/spec.hpp"
#include "launcher/cli/history/history.hpp"
#include "launcher/cli/session.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::cli {

// The user's data directory and the history in it. open_store makes the directory, and finishes
// deletions of jobs that have ended since.
struct Store {
    std::string directory;
    History history;

    std::string record(const std::string& uuid) const { return directory + "/jobs/" + uuid; }
    std::string snapshot(const std::string& uuid) const { return record(uuid) + "/job.json"; }
};
sys::Result<Store> open_store();

// Jobs that match, the oldest first. They include jobs of plain sbatch.
sys::Result<std::vector<JobRow>> find_jobs(Store&, const JobFilter&);

// One job by its name in the scope (the newest, if plain sbatch made several). If there is none, by
// its Slurm job number or uuid in any scope.
sys::Result<JobRow> find_job(Store&, const Scope&, const std::string& name);

// Removes the job's row and its record directory, not its output files.
sys::Result<void> remove_job(Store&, const JobRow&);

// The snapshot as a document, and as a JobSpec.
sys::Result<nlohmann::json> read_snapshot(const Store&, const JobRow&);
sys::Result<job::JobSpec> read_spec(const Store&, const JobRow&);

// The number that sbatch or the job's first node has written into a record; 0: none yet.
std::int64_t recorded_slurm_id(const std::string& record);

// `job run --local` holds this lock while its launcher runs. It shows other processes that the job
// is alive, and the kernel releases it however the launcher ends.
sys::Result<sys::UniqueFd> lock_record(const std::string& snapshot);

}  // namespace batchai::cli

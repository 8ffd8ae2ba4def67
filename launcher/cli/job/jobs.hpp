// SPDX-License-Identifier: Apache-2.0
//
// The user's jobs: history rows and record directories brought together. A job that was submitted
// with plain `sbatch --batchai-job` has a record directory only; it is taken into the history here.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "job/spec.hpp"
#include "launcher/cli/history/history.hpp"
#include "launcher/cli/session.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::cli {

// The user's data directory (made where it is missing) and the history in it.
struct Store {
    std::string directory;
    History history;

    std::string record(const std::string& uuid) const { return directory + "/jobs/" + uuid; }
    std::string snapshot(const std::string& uuid) const { return record(uuid) + "/job.json"; }
};
sys::Result<Store> open_store();

// Jobs that match, oldest first, those of plain sbatch included.
sys::Result<std::vector<JobRow>> find_jobs(Store&, const JobFilter&);

// One job by its name in the scope (the newest, where plain sbatch made several), else by its Slurm
// job number or uuid wherever it is.
sys::Result<JobRow> find_job(Store&, const Scope&, const std::string& name);

// Removes the job's row and its record directory; its output files stay.
sys::Result<void> remove_job(Store&, const JobRow&);

// The snapshot as a document, and as a JobSpec.
sys::Result<nlohmann::json> read_snapshot(const Store&, const JobRow&);
sys::Result<job::JobSpec> read_spec(const Store&, const JobRow&);

// The number that sbatch, or the job's first node, has left in a record; 0: none yet.
std::int64_t recorded_slurm_id(const std::string& record);

// Held by `job run --local` while its launcher runs: how others see that it is alive, whatever
// ended it.
sys::Result<sys::UniqueFd> lock_record(const std::string& snapshot);

}  // namespace batchai::cli

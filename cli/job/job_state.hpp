// SPDX-License-Identifier: Apache-2.0
//
// The state of jobs, from Slurm and their records, and their documents. When a job has ended, its
// state and document go into the history. After that, neither Slurm nor the record is read again.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "cli/history/execution.hpp"
#include "cli/job/job_document.hpp"
#include "cli/job/jobs.hpp"
#include "slurm/jobs.hpp"

namespace batchai::cli {

// Slurm's answer about all jobs of the user. Slurm is asked at the first get(). Make it after the
// rows are read: then a job that is missing in the answer has ended.
class OwnJobs {
  public:
    const sys::Result<slurm::Jobs>& get() const;

  private:
    mutable std::optional<sys::Result<slurm::Jobs>> jobs_;
};

sys::Result<Execution> execution_of(Store&, JobRow&);
// For many jobs, in their order. Slurm is asked once and the history is written once.
sys::Result<std::vector<Execution>> executions_of(Store&, std::vector<JobRow>&);

// `job show`'s document, and a row of a table. Call execution_of on the row first.
nlohmann::json describe(const Store&, const JobRow&, const Execution&);
// The document as printed. If the row has it, it is moved out of the row.
std::string document_text(const Store&, JobRow&, const Execution&);
JobLine line_of(const Store&, const JobRow&, const Execution&);

struct NamedJob {
    Store store;
    JobRow row;
};

// The state of a job that is asked for repeatedly. After the first answer it waits when Slurm stops
// answering, for example while slurmctld restarts.
class JobWatch {
  public:
    explicit JobWatch(NamedJob& job) : job_(job) {}
    sys::Result<Execution> now();

  private:
    NamedJob& job_;
    std::optional<Execution> last_;
    bool told_ = false;
};

}  // namespace batchai::cli

// SPDX-License-Identifier: Apache-2.0
//
// Where jobs stand, by what Slurm says and what their records hold, and what is shown of them. The
// end of a job goes into the history with all that is shown of it: from then on neither Slurm nor
// the record is asked.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "launcher/cli/job/execution.hpp"
#include "launcher/cli/job/job_document.hpp"
#include "launcher/cli/job/jobs.hpp"
#include "launcher/cli/slurm/slurm.hpp"

namespace batchai::cli {

// Slurm's answer about all jobs of the user, asked for when the first one needs it. Made after the
// rows were read: a job that is not in the answer then is over.
class OwnJobs {
  public:
    const sys::Result<SlurmJobs>& get() const;

  private:
    mutable std::optional<sys::Result<SlurmJobs>> jobs_;
};

sys::Result<Execution> execution_of(Store&, JobRow&);
// Of many, in their order: Slurm is asked once, and the history written once.
sys::Result<std::vector<Execution>> executions_of(Store&, std::vector<JobRow>&);

// `job show`'s document and a table's line. The row is one that execution_of has seen.
nlohmann::json describe(const Store&, const JobRow&, const Execution&);
// The document as it is printed, moved out of the row where it is kept.
std::string document_text(const Store&, JobRow&, const Execution&);
JobLine line_of(const Store&, const JobRow&, const Execution&);

struct NamedJob {
    Store store;
    JobRow row;
};

// Where a job stands, asked again and again: a Slurm that answered once and then does not (a
// restart of its controller) is waited for.
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

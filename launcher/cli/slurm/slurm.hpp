// SPDX-License-Identifier: Apache-2.0
//
// What batchai asks of Slurm, through sinfo, squeue, sbatch and scancel: it works with any
// release, and with sites that wrap the commands. No slurmdbd is needed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/cli/job/execution.hpp"
#include "sys/result.hpp"

namespace batchai::cli {

struct SlurmNode {
    std::string name;
    std::string state;  // as sinfo's %T: "idle", "mixed", "idle~", "down*"
};

struct Partition {
    std::string name;
    bool is_default = false;
    std::vector<SlurmNode> nodes;
};

// `sinfo -h -N -o "%P|%N|%T"`, in sinfo's order.
std::vector<Partition> parse_sinfo(const std::string& text);
sys::Result<std::vector<Partition>> partitions();
// The partition of that name, or the default one where name is empty.
sys::Result<Partition> find_partition(const std::string& name);

// squeue's JobID, State, exit_code, StartTime, EndTime and Partition, with times in seconds since
// the epoch. Asked for a job whose number is also its array's, squeue tells of all the array's.
std::optional<SlurmJob> parse_squeue_job(const std::string& text, std::int64_t id);
// Nothing: Slurm does not know the job (any more).
sys::Result<std::optional<SlurmJob>> query_job(std::int64_t id);
// What `scontrol show config` prints.
sys::Result<std::string> slurm_configuration();
// The value of "Key   = value" in it; empty: it has no such line.
std::string value_of(const std::string& configuration, const std::string& key);
// The numbers of everybody's jobs on this cluster that are not over.
sys::Result<std::vector<std::string>> unfinished_jobs();

struct Submission {
    std::string job_name;
    int nodes = 1;
    std::string partition;                  // empty: the default one
    std::string gres;                       // per node; empty: none
    std::string job_file;                   // --batchai-job
    std::string output;                     // of the batch script
    std::string launcher;                   // batchai-launch
    std::vector<std::string> pass_through;  // --account=… and the like
};

std::vector<std::string> sbatch_arguments(const Submission&);
std::string batch_script(const Submission&);
// The new job's number. The error is what sbatch said, in one line.
sys::Result<std::int64_t> submit(const Submission&);

sys::Result<void> cancel(std::int64_t id);

}  // namespace batchai::cli

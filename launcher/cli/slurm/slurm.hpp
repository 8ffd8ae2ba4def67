// SPDX-License-Identifier: Apache-2.0
//
// Questions to Slurm through its commands. They work with every supported release, and with sites
// that wrap the commands. slurmdbd is not required.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/cli/job/execution.hpp"
#include "launcher/cli/slurm/external.hpp"
#include "sys/result.hpp"

namespace batchai::cli {

struct SlurmNode {
    std::string name;
    std::string state;  // in sinfo's form %T: "idle", "mixed", "idle~", "down*"
};

struct Partition {
    std::string name;
    bool is_default = false;
    std::vector<SlurmNode> nodes;
    std::optional<long> time_limit;  // the partition's longest time for a job, in seconds
};

// `sinfo -h -N -o "%P|%N|%T|%l"`, in sinfo's order.
std::vector<Partition> parse_sinfo(const std::string& text);
sys::Result<std::vector<Partition>> partitions();
// The partition of that name, or the default partition if name is empty.
sys::Result<Partition> find_partition(const std::string& name);
// All partitions, also hidden ones and those without nodes.
sys::Result<std::vector<std::string>> partition_names();
// Whether Slurm can start a job on a node in that state.
bool can_run_jobs(const std::string& state);

// Jobs that Slurm knows. Each task of an array is a job, also while it waits.
class SlurmJobs {
  public:
    void add(SlurmJob);
    // Nothing: Slurm does not know the job. A number that names no task finds a task by its own
    // number, because older releases of batchai recorded only that.
    std::optional<SlurmJob> find(const job::Number&) const;

  private:
    std::map<std::string, SlurmJob> jobs_;              // by Number::text()
    std::map<std::int64_t, std::string> texts_of_own_;  // by Number::own()
};

// Parses squeue's JobArrayID, JobID, State, exit_code, StartTime, EndTime, Partition and Reason,
// with times in seconds since the epoch.
SlurmJobs parse_squeue_jobs(const std::string& text);
// Nothing: Slurm does not know the job, or no longer.
sys::Result<std::optional<SlurmJob>> query_job(const job::Number&);
// A job that slurmctld has forgotten, from Slurm's accounting: sacct's JobID, JobIDRaw, State,
// ExitCode, Submit, Start, End and Partition. Nothing: there is no accounting, or it has no end of
// the job. earliest: an older job with the same number, submitted before this time, is skipped.
std::optional<SlurmJob> parse_sacct(const std::string& text, const job::Number&, double earliest);
std::optional<SlurmJob> accounted_job(const job::Number&, double earliest);
// All jobs of the user that Slurm knows, from one call of squeue.
sys::Result<SlurmJobs> query_own_jobs();

// A job of the user whose comment names a record (job::comment_of).
struct CommentedJob {
    job::Number number;
    std::string uuid;
};
std::vector<CommentedJob> parse_comments(const std::string& squeue);  // "JobArrayID JobID Comment"
sys::Result<std::vector<CommentedJob>> query_comments();
// The output of `scontrol show config`.
sys::Result<std::string> slurm_configuration();
// The value of a line "Key   = value"; empty if there is none.
std::string value_of(const std::string& configuration, const std::string& key);
// The numbers of all users' jobs on this cluster that have not ended.
sys::Result<std::vector<std::string>> unfinished_jobs();

// The nodes of a running job.
sys::Result<std::vector<std::string>> nodes_of_job(const job::Number&);
// A running job of the user on a node.
std::optional<std::int64_t> own_job_on(const std::string& node);
// The user's jobs that have not ended, and the smallest limits of the user's associations. A limit
// that is not set is empty. Limits need slurmdbd.
struct OwnUsage {
    std::int64_t nodes = 0;  // of running jobs
    std::int64_t running = 0;
    std::int64_t submitted = 0;  // running and pending
};
struct OwnLimits {
    std::optional<std::int64_t> nodes;
    std::optional<std::int64_t> running;
    std::optional<std::int64_t> submitted;
};
OwnUsage parse_own_usage(const std::string& squeue);      // "%t %D"
OwnLimits parse_own_limits(const std::string& sacctmgr);  // "GrpTRES|MaxJobs|MaxSubmitJobs"
sys::Result<OwnUsage> own_usage();
sys::Result<OwnLimits> own_limits();
// "n[1-2],n4" as a list of names, and the reverse.
sys::Result<std::vector<std::string>> expand_hosts(const std::string& list);
std::string short_list(const std::vector<std::string>& names);
// Runs a command as a job of its own on a node, for at most five minutes. The job must start within
// half a minute.
sys::Result<Finished> run_on_node(const std::string& node, const std::string& partition,
                                  const std::vector<std::string>& command);
// The line of a Slurm command's stderr that gives the reason.
std::string slurms_reason(const std::string& text);
// Nodes and their addresses, in Slurm's order.
using NodeAddresses = std::vector<std::pair<std::string, std::string>>;
NodeAddresses parse_node_addresses(const std::string& scontrol_show_node);
sys::Result<NodeAddresses> node_addresses(const std::vector<std::string>& names);

struct Submission {
    std::string job_name;
    int nodes = 1;
    std::string partition;  // empty: the default one
    std::string gres;       // per node; empty: none
    std::string job_file;
    bool without_plugin = false;            // batchai-launch gets the job file, not sbatch
    std::string comment;                    // empty: pass_through has one
    std::string output;                     // of the batch script
    std::string launcher;                   // batchai-launch
    std::vector<std::string> pass_through;  // --account=… and other options of sbatch
    bool exclusive = true;                  // no other job runs on the nodes
};

// What comes after "sbatch".
std::vector<std::string> sbatch_arguments(const Submission&);
std::string batch_script(const Submission&);
// Returns the new job's number. An error has sbatch's reason, on one line.
sys::Result<std::int64_t> submit(const Submission&);

// Ends jobs of the user, whole arrays or single tasks, as the numbers say. A job that has ended
// already is no error.
sys::Result<void> cancel(const std::vector<job::Number>&);

}  // namespace batchai::cli

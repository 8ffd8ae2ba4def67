// SPDX-License-Identifier: Apache-2.0
//
// Jobs, as squeue and sacct report them. slurmdbd is not required.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "job/number.hpp"
#include "sys/result.hpp"

namespace batchai::slurm {

struct Job {
    std::string state;  // "RUNNING"
    std::string partition;
    std::optional<double> start_time;
    std::optional<double> end_time;
    int exit_code = 0;   // 128+N after signal N
    std::string reason;  // Slurm's reason for a job that waits, such as "Resources"; may be empty
    job::Number number = {};
};

// Jobs that Slurm knows. Each task of an array is a job, also while it waits.
class Jobs {
  public:
    void add(Job);
    // Nothing: Slurm does not know the job. A number that names no task finds a task by its own
    // number, because older releases of batchai recorded only that.
    std::optional<Job> find(const job::Number&) const;

  private:
    std::map<std::string, Job> jobs_;                   // by Number::text()
    std::map<std::int64_t, std::string> texts_of_own_;  // by Number::own()
};

// Parses squeue's JobArrayID, JobID, State, exit_code, StartTime, EndTime, Partition and Reason,
// with times in seconds since the epoch.
Jobs parse_jobs(const std::string& squeue);
// Nothing: Slurm does not know the job, or no longer.
sys::Result<std::optional<Job>> query_job(const job::Number&);
// All jobs of the user that Slurm knows, from one call of squeue.
sys::Result<Jobs> query_own_jobs();
// A job that slurmctld has forgotten, from Slurm's accounting: sacct's JobID, JobIDRaw, State,
// ExitCode, Submit, Start, End and Partition. Nothing: there is no accounting, or it has no end of
// the job. earliest: an older job with the same number, submitted before this time, is skipped.
std::optional<Job> parse_sacct(const std::string& text, const job::Number&, double earliest);
std::optional<Job> accounted_job(const job::Number&, double earliest);

// A job of the user whose comment names a record (job::comment_of).
struct CommentedJob {
    job::Number number;
    std::string uuid;
};
std::vector<CommentedJob> parse_comments(const std::string& squeue);  // "JobArrayID JobID Comment"
sys::Result<std::vector<CommentedJob>> query_comments();

// The numbers of all users' jobs on this cluster that have not ended.
sys::Result<std::vector<std::string>> unfinished_jobs();
// A running job of the user on a node.
std::optional<std::int64_t> own_job_on(const std::string& node);

// Ends jobs of the user, whole arrays or single tasks, as the numbers say. A job that has ended
// already is no error.
sys::Result<void> cancel(const std::vector<job::Number>&);
// Sends a signal to the process of a job's batch script alone.
sys::Result<void> signal_script(const job::Number&, const std::string& signal);

}  // namespace batchai::slurm

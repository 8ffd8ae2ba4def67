// SPDX-License-Identifier: Apache-2.0
//
// Which submission a job's number stands for. slurmctld gives a number out again once it has lost
// its state, and each cluster has its own numbers. A state on a node, with a job's mounts and
// secrets in it, therefore belongs to a cluster, a number, a user, a restart count and the time of
// the submission. slurmctld alone says that time: what a step's environment says, its user says.
//
// slurmctld is asked while a node is set up. From then on a witness spares the question: a
// slurmstepd of the job that has lived on since. Slurm gives no number out again while one of its
// steps runs. Where Slurm has an extern step (PrologFlags=Contain), that is the witness, for the
// job's whole life; else it is the step of the set-up, and once that has ended, the next step asks
// and is the witness.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "spank/helper/job_directory.hpp"
#include "sys/result.hpp"
#include "sys/subprocess.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::spank {

// A question to slurmctld, through squeue(1): when was the job submitted? Asked when it is made,
// answered in the background. Nothing of it remains when this is destroyed.
class SubmissionTime {
  public:
    explicit SubmissionTime(unsigned job);

    // Waits for the answer: seconds since the epoch. While slurmctld cannot be reached, asks again
    // for up to 150 seconds.
    sys::Result<std::string> wait();

  private:
    void ask();

    unsigned job_;
    std::optional<sys::Subprocess> squeue_;
    std::string not_started_;  // why squeue could not be executed
    sys::UniqueFd output_;
    std::string time_;  // empty until answered
};

// The time in the lines "NUMBER TIME" that squeue prints for a job; empty: none of them is its.
std::string submission_time(const std::string& lines, unsigned job);

// True while the witness lives.
bool has_witness(const JobDirectory&);

// From now on: the job's extern step or, where it has none, the slurmstepd with that number.
sys::Result<void> note_witness(const JobDirectory&, unsigned job, pid_t step);

}  // namespace batchai::spank

// SPDX-License-Identifier: Apache-2.0
//
// Finds out which submission a job's number belongs to. slurmctld reuses a number after it has lost
// its state, and each cluster has its own numbers. A state on a node holds a job's mounts and
// secrets. So it belongs to a cluster, a number, a user, a restart count and the time of the
// submission. Only slurmctld's answer about the time is trusted: the user can change a step's
// environment.
//
// A witness replaces the question: a slurmstepd of the job that has been running since the set-up.
// Slurm reuses no number while one of the job's steps runs. With an extern step
// (PrologFlags=Contain), that step is the witness, as a rule for the job's whole life, and
// slurmctld is not asked. Otherwise the helper asks while it sets a node up, and the step of the
// set-up is the witness. After it has ended, the next step asks again and becomes the witness.
//
// An extern step may crash, and its user may end it. Then the next step asks, and compares the
// answer with the time of the set-up by the node's clock (origin_of).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "spank/helper/fields.hpp"
#include "spank/helper/root/daemon_notes.hpp"
#include "spank/helper/root/job_directory.hpp"
#include "sys/result.hpp"
#include "sys/subprocess.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::spank {

// Asks slurmctld, through squeue(1), when the job was submitted. The constructor asks, and the
// answer comes in the background. The destructor ends the question.
class SubmissionTime {
  public:
    explicit SubmissionTime(unsigned job);

    // Waits for the answer: seconds since the epoch. If slurmctld does not answer, it asks again
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

// The time in the lines "NUMBER TIME" that squeue prints for a job. Empty: none of the lines is the
// job's.
std::string submission_time(const std::string& lines, unsigned job);

// Which submission a state is of.
enum class Origin { this_one, another, unclear };

// submitted: when today's job was submitted, from slurmctld. A state with a time of submission must
// have the same. One with the time of its set-up is of this submission if that was not before the
// submission. If it was, by up to 300 seconds, the node's clock may be slow: munge, and so Slurm,
// tolerates that. Pure.
Origin origin_of(const Fields& state, const std::string& submitted);

struct Witness {
    ProcessIdentity process;
    bool is_extern = false;  // it stays until the job's end
};

// The job's extern step or, if it has none, the slurmstepd with that number.
sys::Result<Witness> find_witness(unsigned job, pid_t step);
sys::Result<void> note_witness(const JobDirectory&, const Witness&);

// True while the witness lives.
bool has_witness(const JobDirectory&);

}  // namespace batchai::spank

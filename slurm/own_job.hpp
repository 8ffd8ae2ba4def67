// SPDX-License-Identifier: Apache-2.0
//
// What slurmctld knows about our job. The launcher asks once, when the job ends, or before it
// starts if an option of the user or of the job needs the answer. If the job succeeds and has no
// such option, the launcher does not ask.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "job/number.hpp"
#include "sys/result.hpp"

namespace batchai::slurm {

// A request for GPUs that is not per node.
struct GpuRequest {
    int gpus_per_task = 1;  // --gpus-per-task
    int tasks_per_gpu = 1;  // --ntasks-per-gpu
    // Options with which a step of one task per node gets all GPUs of the job. Empty: no options
    // are needed.
    std::vector<std::string> step_options = {};
};

struct OwnJob {
    job::Number number;
    // Why Slurm ends the job: its user or an operator cancelled it, a job of higher priority needs
    // its nodes, it was requeued, or its time limit is reached.
    enum class End { none, cancelled, preempted, requeued, time_limit };
    bool batch = false;     // submitted with sbatch
    bool requeue = false;   // Slurm may run it again
    int restarts = 0;       // number of earlier runs
    bool requeued = false;  // put back into the queue since this run started
    std::string start;      // of this run, as Slurm prints it
    End end = End::none;
    bool runs = false;    // Slurm has not begun to end it
    double end_time = 0;  // when Slurm did, in whole seconds; 0: unknown
    GpuRequest gpus;
};

// The line of `scontrol show job -o` of the job with that number of its own. scontrol also prints
// the other tasks of an array, or components of a heterogeneous job, if the whole has the number.
// Empty: there is no such line.
std::string line_of_job(const std::string& lines, std::int64_t own);

// Parses a line of `scontrol show job -o`. restarts: the number of earlier runs as far as the
// caller knows; the true number may be smaller.
OwnJob parse_own_job(const std::string& line, int restarts);
// own: the job's own number, SLURM_JOB_ID. The answer has its number as a task or component. No
// variable is as certain: a job that was submitted inside a task of an array inherits that task's.
// limit: for the answer.
sys::Result<OwnJob> query_own_job(std::int64_t own, int restarts,
                                  std::chrono::seconds limit = std::chrono::seconds{10});

// Whether Slurm has forgotten the job, so that it never runs again. False if Slurm does not answer.
bool is_forgotten(const job::Number& job);

// The job of this process, as slurmd knows it. In a heterogeneous job it is the component's number,
// which no variable of a step has.
sys::Result<std::int64_t> job_of_this_process();

// Parses `scontrol listpids`. Empty: the process is not in the list.
std::string job_of_process(const std::string& list, const std::string& pid);

// Requeues the job, which also ends its current run. Of an array only this task is
// requeued. Slurm requeues a heterogeneous job as a whole: give its number, not a component's.
sys::Result<void> requeue_job(const job::Number& job);

// ": the job has reached its time limit", or another reason for which Slurm ended the job; empty:
// unknown.
std::string reason_to_end(const OwnJob& job);

}  // namespace batchai::slurm

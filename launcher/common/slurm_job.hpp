// SPDX-License-Identifier: Apache-2.0
//
// The facts that Slurm's controller has about our job. The launcher asks once, when the job ends,
// or before it starts if an option of the user or of the job needs it. A job that succeeds and
// needs no such option does not ask.
#pragma once

#include <string>
#include <vector>

#include "sys/result.hpp"

namespace batchai::launcher {

// How a job has asked for its GPUs, as far as that is not per node.
struct GpuRequest {
    int gpus_per_task = 1;  // --gpus-per-task
    int tasks_per_gpu = 1;  // --ntasks-per-gpu
    // Options with which a step of one task per node gets all GPUs of the job. Empty: it gets them
    // without options.
    std::vector<std::string> step_options = {};
};

struct SlurmJob {
    // Why Slurm ends it: cancelled by its user or an operator; told to make room; put back into the
    // queue; at its time limit.
    enum class End { none, cancelled, preempted, requeued, time_limit };
    bool batch = false;     // submitted with sbatch
    bool requeue = false;   // Slurm may run it again
    int restarts = 0;       // how often Slurm had run it before this run
    bool requeued = false;  // Slurm has put it back into the queue since this run of it began
    std::string start;      // of this run, in Slurm's words
    End end = End::none;
    GpuRequest gpus;
};

// The job's own line of `scontrol show job -o`. Slurm adds the other tasks of an array, or the
// other components of a heterogeneous job, where the whole has the job's number.
std::string line_of_job(const std::string& lines, const std::string& job_id);

// From a line of `scontrol show job -o`. restarts: how often Slurm had run the job before this run,
// as far as the caller knows; Slurm may have run it less often.
SlurmJob parse_slurm_job(const std::string& line, int restarts);
sys::Result<SlurmJob> ask_slurm(const std::string& job_id, int restarts);

// Whether Slurm has forgotten the job, which then never runs again. False, too, if Slurm does not
// answer.
bool is_forgotten(const std::string& job_id);

// The job of this process, as the node's daemon knows it: of a heterogeneous job the component's
// number, which no variable of a step tells.
sys::Result<std::string> job_of_this_process();

// From `scontrol listpids`; empty: it does not list the process.
std::string job_of_process(const std::string& list, const std::string& pid);

// Puts the job back into the queue, and so ends it where it runs.
sys::Result<void> requeue_job(const std::string& job_id);

// ": the job has reached its time limit", or whatever made Slurm end it; empty: not known.
std::string reason_to_end(const SlurmJob& job);

}  // namespace batchai::launcher

// SPDX-License-Identifier: Apache-2.0
//
// The service's executionState and executionInfo of a job, from what Slurm says and what the job's
// record holds. Pure: the callers ask Slurm (slurm.hpp) and read the record (job/record.hpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "job/record.hpp"

namespace batchai::cli {

// The service's BatchAIError.
struct JobError {
    std::string code;
    std::string message;
    std::string node;  // where it happened; empty: no one place
};

// A job as slurmctld knows it.
struct SlurmJob {
    std::string state;  // "RUNNING"
    std::string partition;
    std::optional<double> start_time;
    std::optional<double> end_time;
    int exit_code = 0;   // 128+N after signal N
    std::string reason;  // why it waits, in Slurm's word: "Resources"; maybe empty
};

struct Execution {
    enum class State { queued, running, terminating, succeeded, failed };
    State state = State::queued;
    std::optional<double> start_time;
    std::optional<double> end_time;
    std::optional<int> exit_code;
    std::vector<JobError> errors;
    std::string waits_for;          // Slurm's reason while it is queued; maybe empty
    std::optional<SlurmJob> slurm;  // what Slurm said last, where it was asked and knew the job

    bool over() const { return state == State::succeeded || state == State::failed; }
};

const char* state_name(Execution::State);
std::optional<Execution::State> state_from_name(const std::string& name);

// What can be known of a job that is not recorded as over.
struct Evidence {
    std::optional<SlurmJob> slurm;         // empty: Slurm does not know the job (any more)
    std::optional<job::JobResult> result;  // empty: batchai-launch has written none
    std::vector<job::Event> events;        // of all nodes, by time
    bool terminating = false;              // the user asked for its end
    bool local = false;                    // `job run --local`: Slurm was never asked
    bool local_alive = false;              // its launcher still runs
};

Execution judge(const Evidence&);

}  // namespace batchai::cli

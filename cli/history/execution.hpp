// SPDX-License-Identifier: Apache-2.0
//
// The service's executionState and executionInfo of a job, from Slurm's state and the job's record.
// Pure: the callers ask Slurm (slurm/jobs.hpp) and read the record (job/record.hpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "job/number.hpp"
#include "job/record.hpp"
#include "slurm/jobs.hpp"

namespace batchai::cli {

// The service's BatchAIError.
struct JobError {
    std::string code;
    std::string message;
    std::string node;  // where it failed; empty: on no particular node
};

struct Execution {
    enum class State { queued, running, terminating, succeeded, failed };
    State state = State::queued;
    std::optional<double> start_time;
    std::optional<double> end_time;
    std::optional<int> exit_code;
    std::vector<JobError> errors;
    std::string waits_for;            // Slurm's reason while the job is queued; may be empty
    std::optional<slurm::Job> slurm;  // Slurm's last answer, if it knew the job

    bool over() const { return state == State::succeeded || state == State::failed; }
};

const char* state_name(Execution::State);
std::optional<Execution::State> state_from_name(const std::string& name);

// What is known of a job whose end is not in the history yet.
struct Evidence {
    std::optional<slurm::Job> slurm;       // empty: Slurm does not know the job, or no longer
    std::optional<job::JobResult> result;  // empty: batchai-launch has written none
    std::vector<job::Event> events;        // of all nodes, by time
    bool terminating = false;              // the user asked for its end
    bool local = false;                    // `job run --local`: Slurm is not asked
    bool local_alive = false;              // its launcher still runs
};

Execution judge(const Evidence&);

}  // namespace batchai::cli

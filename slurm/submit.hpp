// SPDX-License-Identifier: Apache-2.0
//
// Submits a job by sbatch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sys/result.hpp"

namespace batchai::slurm {

struct Submission {
    std::string job_name;
    int nodes = 1;
    std::string partition;  // empty: the default one
    std::string gres;       // per node; empty: none
    std::string job_file;
    bool without_plugin = false;  // batchai-launch gets the job file, not sbatch
    std::string comment;          // empty: pass_through has one
    std::string output;           // of the batch script
    std::string launcher;         // batchai-launch
    std::vector<std::string> launch_arguments;
    std::vector<std::string> pass_through;  // --account=… and other options of sbatch
    bool exclusive = true;                  // no other job runs on the nodes
};

// What comes after "sbatch".
std::vector<std::string> sbatch_arguments(const Submission&);
std::string batch_script(const Submission&);
// Returns the new job's number. An error has sbatch's reason, on one line.
sys::Result<std::int64_t> submit(const Submission&);

}  // namespace batchai::slurm

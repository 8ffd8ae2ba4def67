// SPDX-License-Identifier: Apache-2.0
//
// Finds out how sbatch, salloc or srun, the parent of batchai-check, was called: from its command
// line, the #SBATCH lines of its script, and Slurm's variables. Slurm gives a plugin none of these
// facts before the job runs. If an option is unknown, the values that depend on it are left out.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace batchai::spank {

struct AskedNodes {
    std::string text;  // as the user wrote it: "2", "2-4"
    int least = 0;
    int most = 0;
};

struct Submission {
    bool is_sbatch = false;
    bool is_test = false;             // --test-only: no job will run
    bool is_array = false;            // --array: each task has an output directory of its own
    std::optional<AskedNodes> nodes;  // nullopt: unknown
};

// words: the command line, with the program's name first.
Submission submission_of(const std::vector<std::string>& words);

Submission parent_submission();

}  // namespace batchai::spank

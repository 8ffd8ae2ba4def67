// SPDX-License-Identifier: Apache-2.0
//
// The submission that asked for a check, by the words of sbatch, salloc or srun, batchai-check's
// parent, by the #SBATCH lines of its script, and by Slurm's variables. Slurm tells a plugin
// nothing of it before the job runs. What it is not certain of, because it does not know an option,
// it does not say.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace batchai::spank {

struct AskedNodes {
    std::string text;  // as it was written: "2", "2-4"
    int least = 0;
    int most = 0;
};

struct Submission {
    bool is_sbatch = false;
    bool is_test = false;             // --test-only: nothing will run
    bool is_array = false;            // --array: each task has an output directory of its own
    std::optional<AskedNodes> nodes;  // nothing: it is not known
};

// words: with the program's name first.
Submission submission_of(const std::vector<std::string>& words);

Submission parent_submission();

}  // namespace batchai::spank

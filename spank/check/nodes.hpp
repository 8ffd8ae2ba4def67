// SPDX-License-Identifier: Apache-2.0
//
// How many nodes a submission asks for, by the words of sbatch, salloc or srun and the #SBATCH
// lines of its script. Slurm tells a plugin nothing of it before the job runs.
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

// Nothing where no word says it, or where it is not certain which words are Slurm's.
// words: with the program's name first.
std::optional<AskedNodes> asked_nodes(const std::vector<std::string>& words);

// Of the process that runs this one.
std::optional<AskedNodes> nodes_of_submission();

}  // namespace batchai::spank

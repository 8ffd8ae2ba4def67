// SPDX-License-Identifier: Apache-2.0
//
// The command that asked for a check: sbatch, salloc or srun, batchai-check's parent.
#pragma once

#include <string>
#include <vector>

namespace batchai::spank {

struct Submission {
    bool is_sbatch = false;
    bool is_test = false;   // --test-only: nothing will run
    bool is_array = false;  // --array: each task has an output directory of its own
};

// From the words of a command line. Those of the user's script are not looked at: after a word that
// is a file, or that belongs to no option, comes the script's own. job_file is none.
Submission parse_submission(const std::vector<std::string>& words, const std::string& job_file);

Submission parent_submission(const std::string& job_file);

}  // namespace batchai::spank

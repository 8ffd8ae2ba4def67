// SPDX-License-Identifier: Apache-2.0
//
// Ends jobs, for job terminate and for the deletion of jobs and of what holds jobs. A job's record
// is removed only when Slurm says that the job has ended: until then the job writes into it. A job
// whose deletion was asked for and not waited for is removed by a later command (open_store).
#pragma once

#include <string>
#include <vector>

#include "cli/job/jobs.hpp"

namespace CLI {
class App;
}

namespace batchai::cli {

enum class Ending { terminate, erase };    // erase: and remove the record
enum class Reach { named, whole_arrays };  // whole_arrays: also tasks that have no row yet

// -y and --yes, --no-wait.
struct EndOptions {
    bool yes = false;
    bool no_wait = false;
};
void add_end_options(CLI::App&, EndOptions&);

// Asks the question, with the names of the jobs that have not ended. Then cancels those jobs and
// waits for their ends, unless --no-wait is given. Returns an exit code. It refuses, and ends none
// of the jobs, if one of them is local or is being submitted.
int end_jobs(Store&, std::vector<JobRow>, Reach, Ending, const EndOptions&,
             const std::string& question);

// Removes the jobs whose deletion was asked for and that have ended. If Slurm does not answer, a
// later call does it.
void finish_deletions(Store&);

}  // namespace batchai::cli

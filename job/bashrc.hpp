// SPDX-License-Identifier: Apache-2.0
//
// Keeps the lines that a job's preparation adds to ~/.bashrc, for the ranks of MPI toolkits. The
// service ran these ranks in a shell that reads the file, and preparations put an MPI's variables
// there. Ranks read only the added lines. The rest of the file is the user's: it may print, exit or
// take long, and on a cluster it is the same on all nodes and for all jobs.
#pragma once

#include <string>

namespace batchai::job {

// The name of the copy, in $AZ_BATCHAI_JOB_TEMP of each node. It exists if the preparation added
// lines.
inline constexpr char kAddedToBashrc[] = ".bashrc";

// A preparation's command line that makes the copy after the command has succeeded. It runs in the
// job's working directory, in a container too.
std::string noting_bashrc(const std::string& command);

// A rank's command line that reads the copy first.
std::string reading_bashrc(const std::string& command);

}  // namespace batchai::job

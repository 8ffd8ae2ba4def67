// SPDX-License-Identifier: Apache-2.0
//
// What a job's preparation adds to ~/.bashrc, for the ranks of MPI toolkits: the service ran them
// in a shell that reads it, and preparations put the variables of an MPI there. Only what the
// preparation has added is read. The rest of the file is the user's: it may print, exit or take
// long, and on a cluster it is the same on all nodes and for all jobs.
#pragma once

#include <string>

namespace batchai::job {

// The name of the copy, in $AZ_BATCHAI_JOB_TEMP of each node; there if something was added.
inline constexpr char kAddedToBashrc[] = ".bashrc";

// A preparation's command line that makes the copy once the command has succeeded. It runs in the
// job's working directory, in a container too.
std::string noting_bashrc(const std::string& command);

// A rank's command line that reads the copy first.
std::string reading_bashrc(const std::string& command);

}  // namespace batchai::job

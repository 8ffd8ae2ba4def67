// SPDX-License-Identifier: Apache-2.0
//
// The three verbs of batchai-helper, each an exit code: 0, or 1 after one line on standard error.
#pragma once

#include <sys/types.h>

#include <string>

#include "spank/helper/counters.hpp"

namespace batchai::spank {

// Sets this node up for the job that the request on standard input describes, unless it is already.
// What an earlier submission with the same number has left is removed first. Without options in the
// request, that is all. users_umask: of the job's user.
int set_up(const std::string& policy_file, mode_t users_umask, const Counters&);

// The job with the directory of that name has ended: its processes, mounts, temporary directory and
// state go.
int tear_down(const std::string& job, const Counters&);

// Finishes interrupted ends of jobs, removes what is from before a reboot, and prints one line
// about the plugin and its policy; a policy that is wrong is that line, on standard error.
int sweep(const std::string& policy_file, const Counters&);

}  // namespace batchai::spank

// SPDX-License-Identifier: Apache-2.0
//
// The verbs setup, teardown, sweep and try of batchai-helper. Each returns an exit code: 0, or 1
// after one line on standard error.
#pragma once

#include <sys/types.h>

#include <string>

#include "spank/helper/root/counters.hpp"

namespace batchai::spank {

// Sets this node up for the job of the request on standard input, if it is not set up already.
// First it removes leftovers of an earlier submission with the same number. For a request without
// options it does nothing else. users_umask: that of the job's user.
int set_up(const std::string& policy_file, mode_t users_umask, const Counters&);

// Ends the job with the directory of that name: its processes, mounts, temporary directory and
// state. A background process does it, and goes on if it takes longer than the seconds. The exit
// code is then 1.
int tear_down(const std::string& job, int seconds, const Counters&);

// Finishes interrupted ends of jobs, removes leftovers from before a reboot, and prints one line
// about the plugin and its policy. If the policy is wrong, that line is its error, on standard
// error.
int sweep(const std::string& policy_file, const Counters&);

// `batchai admin doctor` runs it as root. It makes each mount of the site policy in a namespace of
// its own that ends at once, and a directory below job_temp. It opens directories in which users
// can write as user nobody. It does not touch jobs.
//
// Prints a line on standard output for each: "ok WHAT", "skipped WHAT: why" or "failed WHAT: why".
// If only some users can read a mount, the line is "warning WHAT: why". Returns the exit code: 0,
// or 1 if one failed. If the policy cannot be used, it returns 1 after a line on standard error.
int try_policy(const std::string& policy_file);

}  // namespace batchai::spank

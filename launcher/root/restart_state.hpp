// SPDX-License-Identifier: Apache-2.0
//
// The directory in which a launch's ranks keep their state for the next attempt. All nodes must see
// it.
//
// A launch finds only the directory of its own earlier attempts. In a requeued Slurm job, these are
// the attempts of the launch with the same command, the same working directory and the same place:
// the first such launch of a run, the second, and so on. A list in the user's data directory
// records the job's launches. Only the ranks make and remove the directory.
#pragma once

#include <string>
#include <vector>

#include "launcher/common/allocation.hpp"
#include "launcher/env/env.hpp"

namespace batchai::launcher {

// One launch of a Slurm job: a line of the job's list.
struct ListedLaunch {
    int run = 0;           // number of earlier runs of the job in Slurm
    std::string start;     // of that run, as Slurm prints it, or "unknown"
    std::string command;   // a digest of the command and its working directory
    std::string settings;  // a digest of its options and variables: settings_digest()
    int place = 0;         // among the run's launches of that command, from 1
};

// Gives the launch its place and adds it to the list. The place is the first free one in this run.
// If several are free, the places of earlier launches with the same settings come first, because
// simultaneous launches reach the list in any order. A list of another job with the same number is
// emptied.
const ListedLaunch& enter(std::vector<ListedLaunch>& list, ListedLaunch launch);

// A digest of the arguments, and of the variables that do not change from run to run.
std::string settings_digest(const std::vector<std::string>& arguments,
                            const env::Environment& environment);

// Records the launch and returns its directory, whose name begins with prefix. If the launch cannot
// be recorded, a message says so, and no other launch has that directory. The same holds with
// --local, because nothing outlives that launch. It waits for other launches that record
// themselves. command: what launches must have in common to share a place.
std::string restart_directory(const Allocation& allocation, const std::string& prefix,
                              const std::string& command, const std::string& settings);

}  // namespace batchai::launcher

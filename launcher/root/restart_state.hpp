// SPDX-License-Identifier: Apache-2.0
//
// The directory in which the ranks of a launch keep the state for its next attempt. All nodes see
// it.
//
// A launch finds only the directory of its own earlier attempts. In a requeued Slurm job, these
// belong to the launch with the same command, the same working directory and the same place: the
// first such launch of a run, the second, and so on. For that, a list in the user's data directory
// notes the job's launches. Only the ranks make the directory, and remove it.
#pragma once

#include <string>
#include <vector>

#include "launcher/common/allocation.hpp"
#include "launcher/env/env.hpp"

namespace batchai::launcher {

// One launch of a Slurm job: a line of the job's list.
struct ListedLaunch {
    int run = 0;           // how often Slurm had run the job before
    std::string start;     // of that run, as Slurm says it, or "unknown"
    std::string command;   // a digest of the command and its working directory
    std::string settings;  // a digest of its options and variables: settings_digest()
    int place = 0;         // among the launches of that command in the run, from 1
};

// Gives the launch its place and adds it to the list. The place is the first one that is free in
// this run. Where several are free, launches of an earlier run with the same settings come first:
// launches at the same time reach the list in any order. A list that another job with the same
// number has left is emptied.
const ListedLaunch& enter(std::vector<ListedLaunch>& list, ListedLaunch launch);

// A digest of the arguments and of the variables that Slurm does not choose anew for each run.
std::string settings_digest(const std::vector<std::string>& arguments,
                            const env::Environment& environment);

// Notes the launch and returns its directory, which begins with prefix. Where the launch cannot be
// noted, it says so, and the directory is one that no other launch has. With --local too: nothing
// outlives that launch. Blocks for other launches that note themselves. command: what all
// launches that may share a place have in common.
std::string restart_directory(const Allocation& allocation, const std::string& prefix,
                              const std::string& command, const std::string& settings);

}  // namespace batchai::launcher

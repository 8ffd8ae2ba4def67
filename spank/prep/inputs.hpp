// SPDX-License-Identifier: Apache-2.0
//
// What a preparation is made from: where it is all the same, the preparation would do the same. The
// user and the node since its last boot, command and working directory, the job's mounts, the
// environment, and every file that the command names, by size and time. What differs from one job
// or login to the next is left out (SLURM_*, the job's temporary directory) unless the command, or
// a file that it names, mentions it.
//
// Not looked at: what is in directories, and files that nobody names.
#pragma once

#include <map>
#include <string>

namespace batchai::spank {

struct Inputs {
    std::string identity;  // digest of all but the files' sizes and times
    std::string digest;    // of all
    // Size and time of the files that the command names, without those it writes to (">file").
    std::map<std::string, std::string> read;
};

// mounts: a text that is the same for the same mounts.
Inputs inputs_of(const std::string& command, const std::string& node, const std::string& mounts,
                 const std::map<std::string, std::string>& environment);

// Whether what was read is what it was; a file may have come.
bool unchanged(const Inputs& before, const Inputs& after);

// Of this process.
std::map<std::string, std::string> current_environment();

}  // namespace batchai::spank

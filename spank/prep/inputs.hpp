// SPDX-License-Identifier: Apache-2.0
//
// The inputs of a preparation: with equal inputs a preparation does the same again. They are the
// user, the node since its last boot, command, working directory, the job's mounts, the
// environment, and each file that the command names, by size and time. Variables that differ from
// one job or login to the next (SLURM_*, the job's temporary directory) count only if the command,
// or a file that it names, mentions them.
//
// The contents of directories, and files that the command does not name, are not compared.
#pragma once

#include <map>
#include <string>

namespace batchai::spank {

struct Inputs {
    std::string identity;  // digest of all inputs except sizes and times of files
    std::string digest;    // digest of all inputs
    // Size and time of the files that the command names, without those it writes to (">file").
    std::map<std::string, std::string> read;
};

// mounts: a text that is equal for equal mounts.
Inputs inputs_of(const std::string& command, const std::string& node, const std::string& mounts,
                 const std::map<std::string, std::string>& environment);

// True if the files that were read are unchanged. New files do not count.
bool unchanged(const Inputs& before, const Inputs& after);

// The environment of this process.
std::map<std::string, std::string> current_environment();

}  // namespace batchai::spank

// SPDX-License-Identifier: Apache-2.0
//
// Records the inputs of a user's last preparation of a node, so that an equal one need not run
// again. There is one file per node in the user's ~/.cache/batchai/preparation, with digests
// (Inputs) and a time. While a preparation runs, and after one that failed, the file records no
// success; the same holds if two different preparations overlap. All of it runs as the user, so a
// forged file harms only that user.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace batchai::spank {

// The inputs of a preparation: with equal inputs a preparation does the same again. They are the
// user, the node since its last boot, command, working directory, the job's mounts, the
// environment, and each file that the command names, by size and time. Variables that differ from
// one job or login to the next (SLURM_*, the job's temporary directory) count only if the command,
// or a file that it names, mentions them.
//
// The contents of directories, and files that the command does not name, are not compared.
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

class Memory {
  public:
    // If the user has no private directory for the file, nothing is recorded.
    explicit Memory(const std::string& node);

    // The time at which an equal preparation succeeded, if it was the last one and not before the
    // given time.
    std::optional<double> succeeded_since(double earliest, const Inputs&) const;

    void note_start(const Inputs&) const;
    void note_success(const Inputs& before, const Inputs& after, double time) const;
    void forget() const;

    // Remove this file to have the node prepared again.
    const std::string& file() const { return file_; }

  private:
    std::string file_;
};

}  // namespace batchai::spank

// SPDX-License-Identifier: Apache-2.0
//
// Request: the plugin's request to `batchai-helper setup` (spank/protocol.hpp). The options in it
// come from the user and may be forged. Numbers and ids come from Slurm.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spank/helper/credentials.hpp"
#include "spank/helper/fields.hpp"
#include "sys/result.hpp"

namespace batchai::spank {

struct Request {
    std::string name;  // the name of the job's directory
    unsigned job_id = 0;
    unsigned restart = 0;
    pid_t step = 0;  // the process of the step's slurmstepd
    Credentials user;
    std::string node;
    std::vector<std::string> hosts;
    int gpus = 0;            // of this node
    std::vector<int> tasks;  // of each host, if the user has asked Slurm for a number
    std::string submit_directory;
    std::optional<unsigned> array_task;  // the index of this task of a job array
    unsigned array = 0;                  // the array's number; 0: unknown
    std::string secret;     // random part of a name, made for this set-up; not from the plugin
    mode_t umask = 022;     // the user's umask; not from the plugin
    bool in_place = false;  // use the mount namespace that Slurm gave the job

    // The user's options; empty if not given.
    std::string job_file;
    std::string mounts;
    std::string preparation;
    std::string output;

    bool has_options() const {
        return !job_file.empty() || !mounts.empty() || !preparation.empty() || !output.empty();
    }
};

sys::Result<Request> parse_request(std::string_view text);

}  // namespace batchai::spank

// SPDX-License-Identifier: Apache-2.0
//
// The command line of batchai-launch.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "launcher/common/map.hpp"
#include "launcher/common/program.hpp"
#include "launcher/common/settings.hpp"
#include "launcher/root/restart.hpp"

namespace batchai::launcher {

struct Options {
    bool local = false;
    std::optional<int> local_nodes;  // --local N
    std::optional<int> ranks_per_node;
    std::optional<int> ranks;    // of all programs
    std::optional<Order> order;  // --map; none: the job's
    std::string job_file;
    bool without_plugin = false;
    std::string policy_file;
    std::vector<Program> programs;  // none: a job file. The ranks of an only one may be unknown: 0
    std::vector<std::string> arguments;  // all arguments, unchanged
    Restarts restarts;
    RequeuePolicy requeue;
    LaunchSettings settings;
};

// The options, or the exit code to end with: all messages are printed.
std::variant<Options, int> parse_options(int argc, char** argv);

}  // namespace batchai::launcher

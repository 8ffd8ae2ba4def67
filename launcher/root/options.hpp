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
#include "launcher/common/tree.hpp"
#include "launcher/root/printer.hpp"
#include "launcher/root/requeue.hpp"
#include "launcher/root/restart.hpp"

namespace batchai::launcher {

enum class DryRun { no, text, json };

struct Options {
    bool local = false;
    std::optional<int> local_nodes;  // --local N
    std::optional<int> ranks_per_node;
    std::optional<int> ranks;    // of all programs
    std::optional<Order> order;  // --map; none: the job's
    std::string horovod;         // --horovod; empty: $BATCHAI_HOROVOD, or auto
    std::string interface;       // empty: chosen by route
    bool bind = true;            // --bind core
    bool own_gpus_only = false;  // --gpu-visibility rank
    std::string compat;          // --compat; empty: none
    std::string job_file;
    bool without_plugin = false;
    std::string policy_file;
    std::vector<Program> programs;  // none: a job file. The ranks of an only one may be unknown: 0
    std::vector<std::string> arguments;  // all arguments, unchanged
    std::optional<double> timeout;       // seconds
    double hang_report = 60;             // seconds; 0: none
    Restarts restarts;
    RequeuePolicy requeue;
    double grace = 10;  // seconds for the ranks to end after a signal
    int end_on = 0;     // one more signal that ends the job; 0: none
    DryRun dry_run = DryRun::no;
    int radix = kDefaultRadix;
    Labels labels = Labels::none;
    std::string output_directory;  // absolute; empty: none
};

// The options, or the exit code to end with: all messages are printed.
std::variant<Options, int> parse_options(int argc, char** argv);

}  // namespace batchai::launcher

// SPDX-License-Identifier: Apache-2.0
//
// LaunchSettings: what a user's options say about a launch. The command line fills it in
// (launcher/root/options.hpp). The coordinator gets it as a whole, and sends it to each agent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "launcher/common/tree.hpp"
#include "sys/codec.hpp"

namespace batchai::launcher {

enum class DryRun : std::uint8_t { no, text, json };
enum class Labels : std::uint8_t { none, each_rank, equal_lines };

struct LaunchSettings {
    std::string interface;         // --interface, of the ranks; empty: chosen by route
    bool bind = true;              // --bind core: each rank has a share of its node's cores
    bool own_gpus_only = false;    // --gpu-visibility rank
    DryRun dry_run = DryRun::no;   // report the plan, and start no rank
    std::string output_directory;  // --output-dir, absolute; empty: none
    double hang_report = 60;       // seconds without progress until a hang report; 0: never
    int end_on = 0;                // one more signal that ends the job; 0: none
    BATCHAI_FIELDS(interface, bind, own_gpus_only, dry_run, output_directory, hang_report, end_on);

    // Only the root needs these, so an agent has their defaults.
    std::string horovod;            // --horovod; empty: as the ranks' environment says
    std::string compat;             // --compat; empty: none
    std::optional<double> timeout;  // seconds, for all attempts together
    double grace = 10;              // seconds for the ranks to end after a signal
    int radix = kDefaultRadix;      // of the tree for fences
    Labels labels = Labels::none;
};

}  // namespace batchai::launcher

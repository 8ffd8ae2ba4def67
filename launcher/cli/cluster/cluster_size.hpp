// SPDX-License-Identifier: Apache-2.0
//
// How many nodes a cluster is to have, of cluster create, resize and auto-scale. The numbers are
// remembered and shown; a partition has the nodes that it has.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "launcher/cli/slurm/slurm.hpp"

namespace CLI {
class App;
}

namespace batchai::cli {

struct ClusterSize {
    std::optional<int> target;
    std::optional<int> least;  // of --min and --max
    std::optional<int> most;
};

void add_target(CLI::App&, ClusterSize&, const std::string& description);
void add_range(CLI::App&, ClusterSize&);

// What the partition cannot give; empty: nothing.
std::string wrong_size(const ClusterSize&, const Partition&);

// The service's scaleSettings.autoScale; there are --min and --max.
nlohmann::json auto_scale_json(const ClusterSize&);

}  // namespace batchai::cli

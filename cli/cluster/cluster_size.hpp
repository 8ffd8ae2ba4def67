// SPDX-License-Identifier: Apache-2.0
//
// The options about a cluster's size, of cluster create, resize and auto-scale. The numbers are
// recorded and shown. They do not change the partition.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "slurm/nodes.hpp"

namespace CLI {
class App;
}

namespace batchai::cli {

struct ClusterSize {
    std::optional<int> target;
    std::optional<int> least;  // --min, and --max below
    std::optional<int> most;
};

void add_target(CLI::App&, ClusterSize&, const std::string& description);
void add_range(CLI::App&, ClusterSize&);

// Why the partition cannot have that size; empty: it can.
std::string wrong_size(const ClusterSize&, const slurm::Partition&);

// The service's scaleSettings.autoScale. Call it only if --min and --max are given.
nlohmann::json auto_scale_json(const ClusterSize&);

}  // namespace batchai::cli

// SPDX-License-Identifier: Apache-2.0
//
// The JSON document and the table of a cluster, in the service's form, for cluster create, show and
// list, and the options about its size.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/history/history.hpp"
#include "cli/job/jobs.hpp"
#include "cli/output/table.hpp"
#include "cli/session.hpp"
#include "slurm/nodes.hpp"

namespace CLI {
class App;
}

namespace batchai::cli {

// In capitals, as the service wrote sizes.
std::string vm_size_text(std::string size);

// The node counts are Slurm's at the time of the call.
sys::Result<nlohmann::json> cluster_document(Store&, const Resource&);
Table cluster_table(const nlohmann::json& documents);
int print_cluster(const Session&, Store&, const Resource&);

// The options about a cluster's size, of cluster create, resize and auto-scale. The numbers are
// recorded and shown. They do not change the partition.
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

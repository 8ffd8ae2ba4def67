// SPDX-License-Identifier: Apache-2.0
//
// What a cluster's name means: a partition of Slurm, by `cluster create` or by the site policy's
// [cluster.NAME]; and how its nodes do.
#pragma once

#include <string>

#include "job/policy.hpp"
#include "launcher/cli/history/history.hpp"
#include "launcher/cli/session.hpp"
#include "launcher/cli/slurm/slurm.hpp"

namespace batchai::cli {

// The service's nodeStateCounts.
struct NodeCounts {
    int idle = 0;
    int running = 0;
    int preparing = 0;
    int leaving = 0;
    int unusable = 0;
    bool resizing = false;  // nodes are on their way up or down
};

// One node by its state in Slurm ("idle~", "drained"). A node that is powered down counts nowhere.
void count_node(NodeCounts&, const std::string& slurm_state);
NodeCounts count_nodes(const Partition&);

// What a job on a cluster asks Slurm for.
struct ClusterBinding {
    std::string partition;   // empty: the default one
    std::string gres;        // per node
    nlohmann::json volumes;  // mountVolumes of cluster create; null: none
};

// name empty: the default partition. Unknown to history and policy: an error that says how to name
// it.
sys::Result<ClusterBinding> bind_cluster(History&, const job::SitePolicy&, const Scope&,
                                         const std::string& name);

}  // namespace batchai::cli

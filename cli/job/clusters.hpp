// SPDX-License-Identifier: Apache-2.0
//
// What a cluster's name stands for, by `cluster create` or by the site policy's [cluster.NAME]: a
// partition of Slurm. And the states of its nodes.
#pragma once

#include <string>

#include "cli/history/history.hpp"
#include "cli/session.hpp"
#include "job/policy.hpp"
#include "slurm/nodes.hpp"

namespace batchai::cli {

// The service's nodeStateCounts.
struct NodeCounts {
    int idle = 0;
    int running = 0;
    int preparing = 0;
    int leaving = 0;
    int unusable = 0;
    bool resizing = false;  // nodes are starting or shutting down
};

// Counts one node by its Slurm state ("idle~", "drained"). A node that is powered down is not
// counted.
void count_node(NodeCounts&, const std::string& slurm_state);
NodeCounts count_nodes(const slurm::Partition&);

// What a job asks Slurm for because of its cluster.
struct ClusterBinding {
    std::string partition;   // empty: the default one
    std::string gres;        // per node
    nlohmann::json volumes;  // mountVolumes of cluster create; null: there are none
};

// An empty name means the default partition. A name that neither the history nor the policy knows
// is an error, which says how to define it.
sys::Result<ClusterBinding> bind_cluster(History&, const job::SitePolicy&, const job::ClusterName&);

}  // namespace batchai::cli

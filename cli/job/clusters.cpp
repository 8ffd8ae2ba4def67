// SPDX-License-Identifier: Apache-2.0
#include "cli/job/clusters.hpp"

#include <cstring>

#include "cli/job/parameter_file.hpp"
#include "slurm/nodes.hpp"

namespace batchai::cli {
namespace {

// Flags that sinfo appends to a state: no answer, power saving, reserved, planned, …
constexpr const char* kFlags = "*~#!%$@^-+";

}  // namespace

void count_node(NodeCounts& counts, const std::string& slurm_state) {
    const auto end = slurm_state.find_first_of(kFlags);
    const std::string state = slurm_state.substr(0, end);
    const std::string flags = end == std::string::npos ? "" : slurm_state.substr(end);
    const auto flag = [&flags](char c) { return flags.find(c) != std::string::npos; };

    if (flag('~') || state == "powered_down") return;
    if (flag('*') || flag('$')) {
        ++counts.unusable;  // does not answer, or is under maintenance
        return;
    }
    if (flag('#') || state == "powering_up") {
        ++counts.preparing;
        counts.resizing = true;
    } else if (flag('%') || flag('!') || state == "powering_down" || state == "power_down") {
        ++counts.leaving;
        counts.resizing = true;
    } else if (state == "draining") {
        ++counts.leaving;
    } else if (state == "idle" || state == "planned") {
        ++counts.idle;
    } else if (state == "allocated" || state == "mixed" || state == "completing") {
        ++counts.running;
    } else {
        ++counts.unusable;
    }
}

NodeCounts count_nodes(const slurm::Partition& partition) {
    NodeCounts counts;
    for (const auto& node : partition.nodes) count_node(counts, node.state);
    return counts;
}

sys::Result<ClusterBinding> bind_cluster(History& history, const job::SitePolicy& policy,
                                         const job::ClusterName& cluster) {
    const std::string& name = cluster.name;
    if (name.empty()) return ClusterBinding{};
    ClusterBinding binding;
    const auto site = policy.clusters.find(name);
    if (site != policy.clusters.end()) binding = {site->second.partition, site->second.gres, {}};
    const auto record =
        history.find(Resource::Kind::cluster, cluster.resource_group, cluster.workspace, name);
    if (!record) return record.error();
    if (*record) {
        binding.partition = (*record)->document.value("partition", binding.partition);
        binding.gres = (*record)->document.value("gres", binding.gres);
        binding.volumes = parameter((*record)->document, "nodeSetup/mountVolumes");
    } else if (site == policy.clusters.end()) {
        return sys::Error{"cluster " + name + ": not known: bind it to a partition with 'batchai " +
                          "cluster create', or name it in the site policy as [cluster." + name +
                          "]"};
    }
    return binding;
}

}  // namespace batchai::cli

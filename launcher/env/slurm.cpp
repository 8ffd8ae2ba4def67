// SPDX-License-Identifier: Apache-2.0
#include "launcher/env/env.hpp"

namespace batchai::launcher::env {

std::string slurm_counts(const std::vector<int>& counts) {
    std::string text;
    for (std::size_t i = 0; i < counts.size();) {
        std::size_t end = i;
        while (end < counts.size() && counts[end] == counts[i]) ++end;
        text += (text.empty() ? "" : ",") + std::to_string(counts[i]);
        if (end - i > 1) text += "(x" + std::to_string(end - i) + ")";
        i = end;
    }
    return text;
}

void add_slurm(Environment& environment, const Place& place) {
    if (!environment.contains("SLURM_JOB_ID")) return;
    const std::string size = std::to_string(place.size);
    environment["SLURM_PROCID"] = std::to_string(place.rank);
    environment["SLURM_LOCALID"] = std::to_string(place.local_rank);
    environment["SLURM_NODEID"] = std::to_string(place.node);
    environment["SLURM_GTIDS"] = place.local_ranks;
    environment["SLURM_NTASKS"] = size;
    environment["SLURM_NPROCS"] = size;
    environment["SLURM_STEP_NUM_TASKS"] = size;
    environment["SLURM_TASKS_PER_NODE"] = place.ranks_per_node;
    environment["SLURM_STEP_TASKS_PER_NODE"] = place.ranks_per_node;
    environment["SLURM_NTASKS_PER_NODE"] = std::to_string(place.local_size);
    if (environment.contains("SLURM_DISTRIBUTION") || place.cyclic) {
        environment["SLURM_DISTRIBUTION"] = place.cyclic ? "cyclic" : "block";
    }
    if (place.node_list.empty()) return;
    for (const char* name : {"SLURM_NNODES", "SLURM_STEP_NUM_NODES"}) {
        environment[name] = std::to_string(place.nodes);
    }
    for (const char* name : {"SLURM_NODELIST", "SLURM_STEP_NODELIST"}) {
        environment[name] = place.node_list;
    }
}

}  // namespace batchai::launcher::env

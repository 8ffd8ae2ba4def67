// SPDX-License-Identifier: Apache-2.0
#include "launcher/env/env.hpp"

namespace batchai::launcher::env {

bool is_slurms(const std::string& name) {
    return name.starts_with("SLURM_") || name.starts_with("SRUN_");
}

bool is_of_job(const std::string& name) {
    for (const char* start :
         {"SLURM_CONF", "SLURM_JOB_", "SLURM_SPANK_", "SLURM_SUBMIT_", "SLURM_ARRAY_",
          "SLURM_CLUSTER_NAME", "SLURM_RESTART_COUNT", "SLURM_HET_SIZE"}) {
        if (name.starts_with(start)) return true;
    }
    return false;
}

Environment slurm_of_job(const Environment& environment) {
    const bool step = environment.contains("SLURM_STEP_ID");
    Environment slurm;
    for (const auto& [name, value] : environment) {
        if (step ? is_of_job(name) : is_slurms(name)) slurm[name] = value;
    }
    if (!step) return slurm;
    // In a step, no variable has the job's number of tasks. Without a request for tasks, Slurm
    // counts one per CPU.
    for (const auto& [name, source] : {std::pair{"SLURM_JOBID", "SLURM_JOB_ID"},
                                       {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"},
                                       {"SLURM_NODELIST", "SLURM_JOB_NODELIST"},
                                       {"SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE"}}) {
        const auto found = slurm.find(source);
        if (found != slurm.end()) slurm[name] = found->second;
    }
    return slurm;
}

Environment slurm_of_caller(Environment environment) {
    scrub(environment);
    std::erase_if(environment, [](const auto& entry) { return !is_slurms(entry.first); });
    return environment;
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
    const bool alone = place.size == 1;
    if (!alone) environment["SLURM_TASKS_PER_NODE"] = place.ranks_per_node;
    environment["SLURM_STEP_TASKS_PER_NODE"] = place.ranks_per_node;
    environment["SLURM_NTASKS_PER_NODE"] = std::to_string(place.local_size);
    if (environment.contains("SLURM_DISTRIBUTION") || place.cyclic) {
        environment["SLURM_DISTRIBUTION"] = place.cyclic ? "cyclic" : "block";
    }
    if (place.node_list.empty()) return;
    environment["SLURM_STEP_NUM_NODES"] = std::to_string(place.nodes);
    environment["SLURM_STEP_NODELIST"] = place.node_list;
    if (alone) return;
    environment["SLURM_NNODES"] = std::to_string(place.nodes);
    environment["SLURM_NODELIST"] = place.node_list;
}

}  // namespace batchai::launcher::env

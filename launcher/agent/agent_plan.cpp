// SPDX-License-Identifier: Apache-2.0
//
// Agent: what each of its ranks gets, cores and environment, whether to start it so or, in a dry
// run, to tell.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "launcher/agent/agent.hpp"
#include "launcher/paths.hpp"

namespace batchai::launcher {

// Which of the cores are ours Slurm has not said where it has not granted all: nobody is bound.
bool Agent::is_bound() const {
    return job_.shared_host || granted_cores_ == static_cast<int>(cores_.size());
}

// On a shared host all agents' ranks divide its cores.
int Agent::cores_of_rank() const {
    const int cores = job_.shared_host ? static_cast<int>(cores_.size()) : granted_cores_;
    const int sharing = job_.shared_host ? job_.map.size() : job_.map.local_size(bootstrap_.node);
    return std::max(1, cores / std::max(1, sharing));
}

void Agent::bind_ranks() {
    const int count = job_.map.local_size(bootstrap_.node);
    if (!is_bound()) return;
    if (!job_.shared_host) {
        cpus_ = share_cores(cores_, count);
        return;
    }
    const auto all = share_cores(cores_, job_.map.size());
    if (all.empty()) return;
    const auto ours = all.begin() + job_.map.first[bootstrap_.node];
    cpus_.assign(ours, ours + count);
}

env::Place Agent::place_of(int rank) const {
    const RankMap& map = job_.map;
    const int node = bootstrap_.node;
    env::Place place;
    place.rank = rank;
    place.size = map.size();
    place.local_rank = rank - map.first[node];
    place.local_size = map.local_size(node);
    place.node = node;
    place.nodes = static_cast<int>(map.nodes.size());
    place.node_name = bootstrap_.name;
    std::vector<int> counts, local;
    for (int n = 0; n < place.nodes; ++n) counts.push_back(map.local_size(n));
    for (int r = map.first[node]; r < map.first[node + 1]; ++r) local.push_back(r);
    place.ranks_per_node = env::slurm_counts(counts);
    place.local_ranks = fmt::format("{}", fmt::join(local, ","));
    place.master_address = job_.master_address;
    place.master_port = job_.master_port;
    place.cores = cores_of_rank();
    place.shared_host = job_.shared_host;
    place.shm_directory = guarded_.memory();
    return place;
}

env::Environment Agent::environment_of(int rank, env::Environment inherited) const {
    env::Environment environment = std::move(inherited);
    for (const auto& [name, value] : job_.environment) environment[name] = value;
    const env::Place place = place_of(rank);
    env::add_slurm(environment, place);
    env::add_torch(environment, place);
    env::add_horovod(environment, place);
    env::add_openmpi(environment, place);
    env::add_batchai(environment, place, sibling_library("batchai/python"),
                     sibling_library("libbatchai_collectives.so"));
    return environment;
}

// Of the environment what is set here, with the value that it has in the end: what the user has
// set may have won.
void Agent::tell_plan() {
    env::Environment bare;
    if (environment_.contains("SLURM_JOB_ID")) bare["SLURM_JOB_ID"];
    Planned planned;
    const std::vector<int>& first = job_.map.first;
    for (int rank = first[bootstrap_.node]; rank < first[bootstrap_.node + 1]; ++rank) {
        const int local = rank - first[bootstrap_.node];
        RankPlan plan;
        plan.rank = rank;
        if (local < gpus_) plan.gpus = {local};
        if (!cpus_.empty()) plan.cpus = cpus_[local];
        const env::Environment whole = environment_of(rank, environment_);
        for (const auto& [name, value] : environment_of(rank, bare)) {
            plan.environment[name] = whole.at(name);
        }
        plan.environment.erase("SLURM_JOB_ID");
        planned.ranks.push_back(std::move(plan));
    }
    root_->send(planned);
    ranks_->started_all();
}

}  // namespace batchai::launcher

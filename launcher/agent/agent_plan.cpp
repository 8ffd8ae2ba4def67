// SPDX-License-Identifier: Apache-2.0
//
// Agent: what each of its ranks gets, cores and environment, whether to start it so or, in a dry
// run, to tell.
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
    env::Place place = env::place_in(job_.map, rank);
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
    for (const int rank : job_.map.ranks_on(bootstrap_.node)) {
        const int local = job_.map.local_rank(rank);
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

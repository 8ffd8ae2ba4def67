// SPDX-License-Identifier: Apache-2.0
//
// Agent: the plan of each rank (cores, devices and environment). The agent starts the rank by it,
// or reports it in a dry run.
#include <algorithm>

#include "launcher/agent/agent.hpp"
#include "sys/paths.hpp"

namespace batchai::launcher {

// The GPUs of all ranks that divide the node's cores. On a shared host these include the ranks of
// other agents.
GpusOfRanks Agent::gpus_of_ranks() const {
    const std::vector<std::string> addresses = gpu_addresses(environment_, gpus_);
    GpusOfRanks ranks;
    const int nodes = static_cast<int>(job_.map.nodes.size());
    for (int node = 0; node < nodes; ++node) {
        if (node != bootstrap_.node && !job_.shared_host) continue;
        const int count = job_.map.local_size(node);
        for (int local = 0; local < count; ++local) {
            std::vector<std::string>& own = ranks.emplace_back();
            if (addresses.empty()) continue;
            for (const int gpu : gpus_of_rank(local, count, gpus_)) own.push_back(addresses[gpu]);
        }
    }
    return ranks;
}

// The CPUs of the same ranks. Empty if Slurm has granted only some cores without naming them: then
// no rank is bound.
std::vector<std::vector<int>> Agent::shares() const {
    if (!job_.settings.bind || job_.role == Role::script) return {};
    if (!job_.shared_host && granted_cores_ < static_cast<int>(cores_.size())) return {};
    const GpusOfRanks gpus = gpus_of_ranks();
    auto near = near_cores(topology_, cores_, gpus);
    return near.empty() ? share_cores(cores_, static_cast<int>(gpus.size())) : near;
}

void Agent::place_ranks() {
    const int count = job_.map.local_size(bootstrap_.node);
    const int offset = job_.shared_host ? job_.map.first[bootstrap_.node] : 0;
    const auto take_ours = [&](auto& ours, const auto& all) {
        if (!all.empty()) ours.assign(all.begin() + offset, all.begin() + offset + count);
    };
    take_ours(cpus_, shares());
    take_ours(networks_, near_networks(topology_, gpus_of_ranks()));
}

// On a shared host the ranks of all agents share its cores.
Load Agent::load() const {
    if (job_.shared_host) return {job_.map.size(), static_cast<int>(cores_.size())};
    return {job_.map.local_size(bootstrap_.node), granted_cores_};
}

int Agent::cores_of(int local_rank) const {
    if (cpus_.empty()) return load().cores_of_each();
    const std::vector<int>& own = cpus_[local_rank];
    return static_cast<int>(std::count_if(cores_.begin(), cores_.end(), [&](const Core& core) {
        return std::find(own.begin(), own.end(), core.front()) != own.end();
    }));
}

// Whether to set Open MPI's oversubscription. Open MPI 5 would prefer it to the user's own setting.
bool Agent::tells_oversubscribed() const {
    return load().oversubscribed() && !env::has_own_yield(of_job());
}

env::Place Agent::place_of(int rank) const {
    env::Place place = env::place_in(job_.map, rank);
    place.master_address = go_.master_address;
    place.master_port = go_.master_port;
    if (rendezvous_) place.rendezvous_port = rendezvous_->port();
    place.interface = interface_.name;
    place.interface_asked = !job_.settings.interface.empty();
    place.cores = cores_of(place.local_rank);
    place.oversubscribed = load().oversubscribed();
    if (!networks_.empty()) place.networks = networks_[place.local_rank];
    if ((job_.settings.own_gpus_only || are_parts(environment_)) && gpus_ > 0) {
        place.visible_gpus = visible_gpus(environment_, gpus_,
                                          gpus_of_rank(place.local_rank, place.local_size, gpus_));
    }
    place.shared_host = job_.shared_host;
    place.shm_directory = guarded_.memory();
    return place;
}

Meeting Agent::meeting() const {
    return {go_.master_address + ":" + std::to_string(go_.master_port), job_.nspace, go_.workers};
}

// The agent's environment, overridden by the job's variables on this node.
env::Environment Agent::of_job() const {
    env::Environment environment = environment_;
    for (const auto& [name, value] : job_.environment) environment[name] = value;
    return environment;
}

// The part of a rank's environment that comes from the agent's own.
env::Environment Agent::inherited() const {
    env::Environment environment = environment_;
    if (job_.role == Role::script) {
        env::make_script(environment, job_.slurm);
    } else {
        env::scrub(environment);
        environment.insert(job_.slurm.begin(), job_.slurm.end());
    }
    return environment;
}

env::Environment Agent::environment_of(int rank, env::Environment inherited) const {
    env::Environment environment = std::move(inherited);
    for (const auto& [name, value] : job_.environment) environment[name] = value;
    add_variables(environment, job_.programs, rank, meeting());
    env::leave_to_server(environment);
    const env::Place place = place_of(rank);
    if (job_.role == Role::ranks) {
        env::add_slurm(environment, place);
        env::add_torch(environment, place);
        env::add_tensorflow(environment, place, go_.workers);
        env::add_horovod(environment, place);
        env::add_openmpi(environment, place);
        env::add_intel_mpi(environment, place);
        env::add_mpich(environment, place);
        env::add_devices(environment, place);
    }
    env::add_network(environment, place);
    env::add_batchai(environment, place, sys::sibling_library("batchai/python"),
                     sys::sibling_library("libbatchai_collectives.so.0"));
    return environment;
}

// Reports the variables that the launcher sets, with their final values. A value that the user has
// set may override the launcher's.
void Agent::tell_plan() {
    env::Environment bare;
    if (environment_.contains("SLURM_JOB_ID")) bare["SLURM_JOB_ID"];
    Planned planned;
    for (const int rank : job_.map.ranks_on(bootstrap_.node)) {
        const int local = job_.map.local_rank(rank);
        RankPlan plan;
        plan.rank = rank;
        plan.gpus = gpus_of_rank(local, job_.map.local_size(bootstrap_.node), gpus_);
        if (!cpus_.empty()) plan.cpus = cpus_[local];
        const env::Environment whole = environment_of(rank, inherited());
        for (const auto& [name, value] : environment_of(rank, bare)) {
            const auto set = whole.find(name);
            if (set != whole.end()) plan.environment.insert(*set);
        }
        plan.environment.erase("SLURM_JOB_ID");
        planned.ranks.push_back(std::move(plan));
    }
    root_->send(planned);
    ranks_->started_all();
}

}  // namespace batchai::launcher

// SPDX-License-Identifier: Apache-2.0
//
// Coordinator, first part: when all agents have connected, they get their orders. With --dry-run
// they are only asked, and the plan is printed.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <numeric>
#include <set>

#include "job/plan.hpp"
#include "launcher/common/continued_file.hpp"
#include "launcher/common/readiness.hpp"
#include "launcher/env/env.hpp"
#include "launcher/root/coordinator.hpp"
#include "slurm/host_list.hpp"
#include "sys/clock.hpp"
#include "sys/text.hpp"

namespace batchai::launcher {
namespace {

constexpr int kMaxWorkers = 1024;  // more addresses make the environment too large

sys::Result<void> check_ready(const Allocation& allocation, const std::vector<Hello>& nodes) {
    if (allocation.local) return {};
    const std::string job_id = allocation.job.own_text();
    return check_readiness(nodes, job_id,
                           asks_for_mounts(env::current()) || is_in_job_mounts(job_id));
}

// The addresses at which the ranks find each other.
Go addresses(const Session& session, const Work& work, const Nodes& nodes) {
    const Prepared& first = *nodes[0].prepared;
    Go go{first.address, nodes[0].hello.free_port, {}};
    const RankMap& map = work.map;
    const bool wanted = session.tensorflow || names_hosts(work.programs);
    if (!wanted || map.size() > kMaxWorkers) return go;
    for (int rank = 0; rank < map.size(); ++rank) {
        const Prepared& prepared = *nodes[map.node_of(rank)].prepared;
        const auto local = static_cast<std::size_t>(map.local_rank(rank));
        if (local >= prepared.ports.size()) {
            go.workers.clear();
            return go;
        }
        go.workers.push_back(fmt::format("{}:{}", prepared.address, prepared.ports[local]));
    }
    return go;
}

// The attempt's number, as torchrun sets it, and Slurm's variables of the job, which srun does not
// change in a step.
void add_attempt(env::Environment& environment, const Session& session) {
    if (!session.restart_directory.empty()) {
        // A variable of the job file has priority.
        environment.try_emplace(env::kRestartDirectory, session.restart_directory);
        env::note_as_ours(environment, env::kRestartDirectory);
    }
    if (!session.settings.compat.empty()) {
        environment[env::kCompat] = session.settings.compat;
        env::note_as_ours(environment, env::kCompat);
    }
    environment["TORCHELASTIC_RESTART_COUNT"] = std::to_string(session.attempt);
    environment["TORCHELASTIC_MAX_RESTARTS"] = std::to_string(session.max_restarts);
    const Allocation& allocation = session.allocation;
    if (!allocation.reduced || allocation.local) return;
    for (const char* name : {"SLURM_JOB_NODELIST", "SLURM_NODELIST"}) {
        environment[name] = slurm::hostlist_of(allocation.nodes);
    }
    for (const char* name : {"SLURM_JOB_NUM_NODES", "SLURM_NNODES"}) {
        environment[name] = std::to_string(allocation.nodes.size());
    }
}

// Open MPI takes at most as many slots of a host file as this variable has. Slurm sets it to one
// task per node, or to one per CPU, unless the user has asked for a number. Programs of the script
// that use no GPU may use all CPUs, so it is never lowered.
void add_slots(env::Environment& slurm, const Allocation& allocation, const Nodes& nodes) {
    if (allocation.local || !allocation.tasks.empty()) return;
    std::vector<int> slots = sys::expand_counts(env::value_of(slurm, "SLURM_TASKS_PER_NODE"));
    slots.resize(nodes.size());
    for (int i = 0; i < nodes.size(); ++i)
        slots[i] = std::max(slots[i], job::HostSlots{{}, nodes[i].hello.gpus}.slots());
    const bool has_gpus = std::any_of(nodes.begin(), nodes.end(),
                                      [](const Node& node) { return node.hello.gpus > 0; });
    if (has_gpus) slurm["SLURM_TASKS_PER_NODE"] = sys::counts_of(slots);
}

// For mpirun and the like, which must find all nodes of the job.
void add_slurm(Launch& launch, const Allocation& allocation, const Nodes& nodes) {
    env::Environment slurm = env::slurm_of_job(env::current());
    if (launch.role == Role::script) {
        add_slots(slurm, allocation, nodes);
        launch.slurm = std::move(slurm);
        return;
    }
    if (allocation.local || allocation.reduced) return;
    for (const char* name : {"SLURM_NNODES", "SLURM_NODELIST", "SLURM_TASKS_PER_NODE"}) {
        if (slurm.contains(name)) launch.environment[name] = slurm[name];
    }
}

// Addresses that several nodes have, such as docker0's. They lead to no other node.
std::vector<std::string> ambiguous_addresses(const Nodes& nodes) {
    std::map<std::string, int> owners;
    for (const Node& node : nodes) {
        const std::set<std::string> own(node.hello.addresses.begin(), node.hello.addresses.end());
        for (const std::string& address : own) ++owners[address];
    }
    std::vector<std::string> found;
    for (const auto& [address, count] : owners) {
        if (count > 1 && !address.starts_with("127.")) found.push_back(address);
    }
    return found;
}

Launch launch_for(int node, const std::string& nspace, const Session& session, const Work& work,
                  const Nodes& nodes) {
    Launch launch;
    launch.nspace = nspace;
    launch.map = work.map;
    launch.programs = work.programs;
    launch.directory = work.directories.empty() ? work.directory : work.directories[node];
    launch.role = work.role;
    if (!work.environments.empty()) launch.environment = work.environments[node];
    const bool again = session.attempt > 0 || session.allocation.restarts > 0;
    if (again && !work.of_retries.empty())
        launch.environment.insert(work.of_retries[node].begin(), work.of_retries[node].end());
    launch.settings = session.settings;
    if (work.role == Role::ranks && !session.allocation.local)
        launch.slurm = env::slurm_of_caller(environment_of_job(session.allocation));
    if (work.map.size() == 1 && work.map.local_size(node) == 1)
        add_slurm(launch, session.allocation, nodes);
    add_attempt(launch.environment, session);
    if (!session.settings.horovod.empty())
        launch.environment[env::kHorovod] = session.settings.horovod;
    if (const int parent = nodes.tree().parent(node); parent != kRoot) {
        launch.parent_address = nodes[parent].channel->peer_address();
        launch.parent_port = nodes[parent].hello.tree_port;
    }
    launch.shared_host = session.allocation.local;
    if (session.settings.dry_run != DryRun::no) return launch;
    const std::string line = line_of_requeued(session.allocation);
    launch.append_output = session.attempt > 0 || !line.empty();
    if (session.attempt == 0) launch.output_line = line;
    if (!work.execution_logs.empty()) launch.execution_log = work.execution_logs[node];
    launch.record = session.record;
    if (!work.preparations.empty() && !session.carried.prepared)
        launch.preparation = work.preparations[node];
    launch.preparation_input = work.preparation_input;
    launch.host_file = work.host_file;
    return launch;
}

}  // namespace

std::vector<NodeSize> sizes_of(const std::vector<Hello>& nodes, const std::vector<int>& tasks) {
    std::vector<NodeSize> sizes;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
        const Hello& node = nodes[n];
        sizes.push_back({node.name, node.gpus, node.granted_cores, tasks.empty() ? 0 : tasks[n]});
    }
    return sizes;
}

void Coordinator::on_connected() {
    std::vector<Hello> facts;
    for (int node = 0; node < nodes_.size(); ++node) {
        facts.push_back(nodes_[node].hello);
        session_.allocation.nodes[node] = nodes_[node].name;
    }
    if (auto ready = check_ready(session_.allocation, facts); !ready)
        return ending_.fail(ready.error().message);
    auto work = session_.plan(facts);
    if (!work) return ending_.fail(work.error().message);
    work_ = *std::move(work);
    const std::string nspace = fmt::format("batchai.{}.{}", session_.allocation.job.whole_text(),
                                           random_text().substr(0, 16));
    jobs_.add({nspace, 0, -1, work_.map, work_.programs});
    const std::vector<int> slots = slots_of(sizes_of(facts, session_.allocation.tasks),
                                            session_.allocation.gpus.tasks_per_gpu);
    spawning_.begin(slots);
    outcome_.set_programs(work_.programs);
    relay_.begin();
    ending_.begin();
    const auto ambiguous =
        session_.allocation.local ? std::vector<std::string>() : ambiguous_addresses(nodes_);
    for (int node = 0; node < nodes_.size(); ++node) {
        Launch launch = launch_for(node, nspace, session_, work_, nodes_);
        launch.ambiguous = ambiguous;
        launch.slots = std::accumulate(slots.begin(), slots.end(), 0);
        nodes_.send(node, launch);
    }
}

void Coordinator::on_prepared(int node, Prepared prepared) {
    nodes_[node].prepared = std::move(prepared);
    if (!nodes_.all_prepared() || !ending_.running()) return;
    session_.carried.prepared = true;
    const Go go = addresses(session_, work_, nodes_);
    if (go.workers.empty() && names_hosts(work_.programs)) {
        return ending_.fail(
            fmt::format("the {} ranks cannot be told each other's addresses: there are "
                        "more than {}, or a node has no port left",
                        work_.map.size(), kMaxWorkers));
    }
    nodes_.stop_progress();
    nodes_.send_all(go);
    if (session_.settings.dry_run == DryRun::no)
        input_.start(session_.output_is_ours && session_.max_restarts == 0);
}

void Coordinator::on_planned(Planned planned) {
    const int ranks = work_.map.size();
    for (RankPlan& rank : planned.ranks) {
        if (rank.rank < 0 || rank.rank >= ranks) return;
        planned_.push_back(std::move(rank));
    }
    if (static_cast<int>(planned_.size()) < ranks) return;
    std::sort(planned_.begin(), planned_.end(),
              [](const RankPlan& a, const RankPlan& b) { return a.rank < b.rank; });
    Plan plan{work_.map, work_.programs, work_.directory, std::move(planned_)};
    hide(plan, work_.secrets);
    const bool json = session_.settings.dry_run == DryRun::json;
    std::fputs(sys::printable_lines(json ? as_json(plan) : as_text(plan)).c_str(), stdout);
}

}  // namespace batchai::launcher

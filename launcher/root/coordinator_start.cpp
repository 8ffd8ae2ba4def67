// SPDX-License-Identifier: Apache-2.0
//
// Coordinator, first part: the agents connect, and get their orders. With --dry-run they are only
// asked, and the plan is printed.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

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

}  // namespace

std::vector<NodeSize> sizes_of(const std::vector<Hello>& nodes, const std::vector<int>& tasks) {
    std::vector<NodeSize> sizes;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
        const Hello& node = nodes[n];
        sizes.push_back({node.name, node.gpus, node.granted_cores, tasks.empty() ? 0 : tasks[n]});
    }
    return sizes;
}

void Coordinator::admit(Link link) {
    auto& peer = *peers_.emplace_back(std::make_unique<Peer>());
    peer.channel = std::make_unique<Channel>(
        loop_, std::move(link),
        Channel::Callbacks{[this, &peer](Kind kind, Reader& reader) {
                               if (peer.node >= 0) return on_message(peer.node, kind, reader);
                               if (kind == Kind::hello) return on_hello(peer, reader);
                               peer.channel->close();
                           },
                           [this, &peer] {
                               if (peer.node >= 0) on_agent_lost(peer.node);
                           }});
}

bool Coordinator::is_welcome(const Hello& hello) const {
    return hello.node >= 0 && hello.node < static_cast<int>(agents_.size()) &&
           agents_[hello.node].peer == nullptr;
}

void Coordinator::on_hello(Peer& peer, Reader& reader) {
    if (const auto reason = other_release(reader, BATCHAI_VERSION)) return fail(*reason);
    Hello hello;
    if (!decode(reader, hello) || !is_welcome(hello)) return peer.channel->close();
    const int node = hello.node;
    peer.node = node;
    agents_[node].peer = &peer;
    agents_[node].offset = sys::wall_clock() - hello.clock;
    session_.allocation.nodes[node] = hello.name;
    agents_[node].hello = std::move(hello);
    ++greeted_;
    if (greeted_ == agents_.size() && state_ == State::starting) launch();
}

// Called when all agents have connected, or the job ends. It closes the ports, and connections
// without Hello.
void Coordinator::close_door() {
    door_.reset();
    for (const auto& peer : peers_)
        if (peer->node < 0) peer->channel->close();
}

sys::Result<void> Coordinator::check_ready(const std::vector<Hello>& nodes) const {
    const Allocation& allocation = session_.allocation;
    if (allocation.local) return {};
    const std::string job_id = allocation.job.own_text();
    return check_readiness(nodes, job_id,
                           asks_for_mounts(env::current()) || is_in_job_mounts(job_id));
}

void Coordinator::launch() {
    close_door();
    status_.clear();
    std::vector<Hello> facts;
    for (const Agent& agent : agents_) facts.push_back(agent.hello);
    if (auto ready = check_ready(facts); !ready) return fail(ready.error().message);
    auto work = session_.plan(facts);
    if (!work) return fail(work.error().message);
    map_ = work->map;
    programs_ = work->programs;
    outcome_.set_programs(programs_);
    if (session_.settings.dry_run != DryRun::no) {
        plan_ = {map_, work->programs, work->directory, std::vector<RankPlan>(map_.size())};
    }
    secrets_ = work->secrets;
    relay_.set_map(map_);
    state_ = State::running;
    for (int node = 0; node < static_cast<int>(agents_.size()); ++node) {
        agents_[node].peer->channel->send(launch_for(node, *work));
    }
}

void Coordinator::on_prepared(int node, Prepared prepared) {
    agents_[node].prepared = std::move(prepared);
    const bool all = std::all_of(agents_.begin(), agents_.end(),
                                 [](const Agent& a) { return a.prepared.has_value(); });
    if (!all || state_ != State::running) return;
    session_.carried.prepared = true;
    const Go go = this->go();
    if (go.workers.empty() && names_hosts(programs_)) {
        return fail(
            fmt::format("the {} ranks cannot be told each other's addresses: there are "
                        "more than {}, or a node has no port left",
                        map_.size(), kMaxWorkers));
    }
    show_progress();
    to_all(go);
    if (session_.settings.dry_run == DryRun::no) start_input();
}

// The addresses at which the ranks find each other.
Go Coordinator::go() const {
    const Prepared& first = *agents_[0].prepared;
    Go go{first.address, agents_[0].hello.free_port, {}};
    const bool wanted = session_.tensorflow || names_hosts(programs_);
    if (!wanted || map_.size() > kMaxWorkers) return go;
    for (int rank = 0; rank < map_.size(); ++rank) {
        const Prepared& prepared = *agents_[map_.node_of(rank)].prepared;
        const auto local = static_cast<std::size_t>(map_.local_rank(rank));
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
void Coordinator::add_attempt(env::Environment& environment) const {
    if (!session_.restart_directory.empty()) {
        // A variable of the job file has priority.
        environment.try_emplace(env::kRestartDirectory, session_.restart_directory);
        env::note_as_ours(environment, env::kRestartDirectory);
    }
    if (!session_.settings.compat.empty()) {
        environment[env::kCompat] = session_.settings.compat;
        env::note_as_ours(environment, env::kCompat);
    }
    environment["TORCHELASTIC_RESTART_COUNT"] = std::to_string(session_.attempt);
    environment["TORCHELASTIC_MAX_RESTARTS"] = std::to_string(session_.max_restarts);
    const Allocation& allocation = session_.allocation;
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
void Coordinator::add_slots(env::Environment& slurm) const {
    if (session_.allocation.local || !session_.allocation.tasks.empty()) return;
    std::vector<int> slots = sys::expand_counts(env::value_of(slurm, "SLURM_TASKS_PER_NODE"));
    slots.resize(agents_.size());
    for (std::size_t i = 0; i < agents_.size(); ++i)
        slots[i] = std::max(slots[i], job::HostSlots{{}, agents_[i].hello.gpus}.slots());
    const bool has_gpus = std::any_of(agents_.begin(), agents_.end(),
                                      [](const Agent& agent) { return agent.hello.gpus > 0; });
    if (has_gpus) slurm["SLURM_TASKS_PER_NODE"] = sys::counts_of(slots);
}

// For mpirun and the like, which must find all nodes of the job.
void Coordinator::add_slurm(Launch& launch) const {
    env::Environment slurm = env::slurm_of_job(env::current());
    if (launch.role == Role::script) {
        add_slots(slurm);
        launch.slurm = std::move(slurm);
        return;
    }
    const Allocation& allocation = session_.allocation;
    if (allocation.local || allocation.reduced) return;
    for (const char* name : {"SLURM_NNODES", "SLURM_NODELIST", "SLURM_TASKS_PER_NODE"}) {
        if (slurm.contains(name)) launch.environment[name] = slurm[name];
    }
}

Launch Coordinator::launch_for(int node, const Work& work) const {
    Launch launch;
    launch.nspace = namespace_;
    launch.map = work.map;
    launch.programs = work.programs;
    launch.directory = work.directories.empty() ? work.directory : work.directories[node];
    launch.role = work.role;
    if (!work.environments.empty()) launch.environment = work.environments[node];
    const bool again = session_.attempt > 0 || session_.allocation.restarts > 0;
    if (again && !work.of_retries.empty())
        launch.environment.insert(work.of_retries[node].begin(), work.of_retries[node].end());
    launch.settings = session_.settings;
    if (work.role == Role::ranks && !session_.allocation.local)
        launch.slurm = env::slurm_of_caller(environment_of_job(session_.allocation));
    if (work.map.size() == 1 && work.map.local_size(node) == 1) add_slurm(launch);
    add_attempt(launch.environment);
    if (!session_.settings.horovod.empty())
        launch.environment[env::kHorovod] = session_.settings.horovod;
    if (const int parent = tree().parent(node); parent != kRoot) {
        launch.parent_address = agents_[parent].peer->channel->peer_address();
        launch.parent_port = agents_[parent].hello.tree_port;
    }
    launch.shared_host = session_.allocation.local;
    if (session_.settings.dry_run != DryRun::no) return launch;
    const std::string line = line_of_requeued(session_.allocation);
    launch.append_output = session_.attempt > 0 || !line.empty();
    if (session_.attempt == 0) launch.output_line = line;
    if (!work.execution_logs.empty()) launch.execution_log = work.execution_logs[node];
    launch.record = work.record;
    if (!work.preparations.empty() && !session_.carried.prepared)
        launch.preparation = work.preparations[node];
    launch.preparation_input = work.preparation_input;
    launch.host_file = work.host_file;
    return launch;
}

void Coordinator::on_planned(Planned planned) {
    for (RankPlan& rank : planned.ranks) {
        if (rank.rank < 0 || rank.rank >= map_.size()) return;
        plan_.ranks[rank.rank] = std::move(rank);
        ++planned_;
    }
    if (planned_ < map_.size()) return;
    hide(plan_, secrets_);
    const std::string text =
        session_.settings.dry_run == DryRun::json ? as_json(plan_) : as_text(plan_);
    std::fputs(sys::printable_lines(text).c_str(), stdout);
}

}  // namespace batchai::launcher

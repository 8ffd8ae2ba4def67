// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/node_job.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "job/bashrc.hpp"
#include "job/expand.hpp"
#include "launcher/agent/gpus.hpp"
#include "slurm/host_list.hpp"
#include "sys/clock.hpp"
#include "sys/file.hpp"
#include "sys/paths.hpp"
#include "sys/text.hpp"

namespace batchai::launcher {

// ---- the machine and the orders -----------------------------------------------------------------

NodeJob::NodeJob(const Bootstrap& bootstrap, Interface interface, std::string memory)
    : node_(bootstrap),
      environment_(env::current()),
      memory_(std::move(memory)),
      interface_(std::move(interface)) {}

sys::Result<void> NodeJob::describe_machine(Hello& hello) {
    const auto gpus = count_gpus(environment_);
    gpus_ = gpus ? *gpus : 0;
    topology_ = load_topology(gpus_ > 0);
    cores_ = allowed_cores(topology_);
    granted_cores_ = granted_cores(cores_, env::value_of(environment_, "SLURM_JOB_CPUS_PER_NODE"),
                                   node_of_job());
    hello.gpus = gpus_;
    hello.granted_cores = granted_cores_;
    return gpus ? sys::Result<void>() : gpus.error();
}

void NodeJob::take(Launch launch) {
    launch_ = std::move(launch);
    jobs_.add({launch_.nspace, 0, -1, launch_.map, launch_.programs});
}

void NodeJob::add(Job job) {
    for (Program& program : job.programs) {
        if (!program.directory.empty())
            program.directory = std::filesystem::path(launch_.directory) / program.directory;
    }
    jobs_.add(std::move(job));
}

std::vector<int> NodeJob::ranks_of(const Job& job) const {
    std::vector<int> own = ranks();
    std::erase_if(own,
                  [&](int rank) { return rank < job.first || rank >= job.first + job.map.size(); });
    return own;
}

// The node's index in the whole job. A restart may leave out nodes, and Slurm's list of CPUs covers
// the whole job.
int NodeJob::node_of_job() const {
    const auto nodes = slurm::expand_hostlist(env::value_of(environment_, "SLURM_JOB_NODELIST"));
    const auto found = std::find(nodes.begin(), nodes.end(), node_.name);
    return found == nodes.end() ? node_.node : static_cast<int>(found - nodes.begin());
}

sys::Result<void> NodeJob::choose_interface() {
    if (launch_.settings.interface.empty()) return {};
    interface_ = interface_named(launch_.settings.interface);
    if (!interface_.name.empty()) return {};
    return sys::Error{fmt::format("interface {}: not there, not up, or without an IPv4 address",
                                  launch_.settings.interface)};
}

sys::Result<void> NodeJob::write_host_file() const {
    const std::string path = env::value_of(of_job(), "AZ_BATCHAI_MPI_HOST_FILE");
    if (launch_.host_file.empty() || path.empty()) return {};
    return sys::write_file(path, launch_.host_file, 0644);
}

// ---- cores and devices --------------------------------------------------------------------------

// The GPUs of all ranks that divide the node's cores. On a shared host these include the ranks of
// other agents.
GpusOfRanks NodeJob::gpus_of_ranks() const {
    const std::vector<std::string> addresses = gpu_addresses(environment_, gpus_);
    GpusOfRanks ranks;
    const int nodes = static_cast<int>(launch_.map.nodes.size());
    for (int node = 0; node < nodes; ++node) {
        if (node != node_.node && !launch_.shared_host) continue;
        const int count = launch_.map.local_size(node);
        for (int local = 0; local < count; ++local) {
            std::vector<std::string>& own = ranks.emplace_back();
            if (addresses.empty()) continue;
            for (const int gpu : gpus_of_rank(local, count, gpus_)) own.push_back(addresses[gpu]);
        }
    }
    return ranks;
}

// The CPUs of the same ranks. Empty for a script, which is not bound, and if Slurm has granted only
// some cores without naming them: then no rank is bound.
std::vector<std::vector<int>> NodeJob::shares() const {
    if (!launch_.settings.bind || launch_.role == Role::script) return {};
    if (!launch_.shared_host && granted_cores_ < static_cast<int>(cores_.size())) return {};
    const GpusOfRanks gpus = gpus_of_ranks();
    auto near = near_cores(topology_, cores_, gpus);
    return near.empty() ? share_cores(cores_, static_cast<int>(gpus.size())) : near;
}

void NodeJob::make_plan(Go go, int rendezvous_port) {
    go_ = std::move(go);
    rendezvous_port_ = rendezvous_port;
    const int count = launch_.map.local_size(node_.node);
    const int offset = launch_.shared_host ? launch_.map.first[node_.node] : 0;
    const auto take_ours = [&](auto& ours, const auto& all) {
        if (!all.empty()) ours.assign(all.begin() + offset, all.begin() + offset + count);
    };
    take_ours(cpus_, shares());
    take_ours(networks_, near_networks(topology_, gpus_of_ranks()));
}

// On a shared host the ranks of all agents share its cores.
Load NodeJob::load() const {
    if (launch_.shared_host) return {jobs_.map().size(), static_cast<int>(cores_.size())};
    return {jobs_.map().local_size(node_.node), granted_cores_};
}

int NodeJob::cores_of(int local_rank) const {
    if (cpus_.empty()) return load().cores_of_each();
    const std::vector<int>& own = cpus_[local_rank];
    return static_cast<int>(std::count_if(cores_.begin(), cores_.end(), [&](const Core& core) {
        return std::find(own.begin(), own.end(), core.front()) != own.end();
    }));
}

// Whether to set Open MPI's oversubscription. Open MPI 5 would prefer it to the user's own setting.
bool NodeJob::tells_oversubscribed() const {
    return load().oversubscribed() && !env::has_own_yield(of_job());
}

int NodeJob::gpu_of(int rank) const {
    return gpus_ > 0 && jobs_.is_of_first(rank) ? launch_.map.local_rank(rank) % gpus_ : -1;
}

// ---- environments -------------------------------------------------------------------------------

// Interfaces all of whose addresses other nodes have too. Open MPI refuses a list of interfaces to
// leave out beside a list of those to use, which a site's or the user's parameter file may have.
std::vector<std::string> NodeJob::ambiguous_interfaces() const {
    if (launch_.ambiguous.empty() || env::openmpi_has_interfaces(environment_)) return {};
    std::map<std::string, bool> ambiguous;
    for (const Interface& one : interfaces()) {
        const bool is_shared = one.name != interface_.name &&
                               std::find(launch_.ambiguous.begin(), launch_.ambiguous.end(),
                                         one.address) != launch_.ambiguous.end();
        const auto [found, is_new] = ambiguous.emplace(one.name, is_shared);
        found->second = found->second && is_shared;
    }
    std::vector<std::string> names;
    for (const auto& [name, is_ambiguous] : ambiguous)
        if (is_ambiguous) names.push_back(name);
    return names;
}

// A rank of a further job is not bound, and sees all GPUs of the node.
env::RankNumbers NodeJob::numbers_of(int rank) const {
    const Job& job = jobs_.of(rank);
    env::RankNumbers numbers = env::numbers_in(job.map, rank - job.first);
    numbers.master_address = go_.master_address;
    numbers.master_port = go_.master_port;
    numbers.rendezvous_port = rendezvous_port_;
    numbers.interface = interface_.name;
    numbers.interface_asked = !launch_.settings.interface.empty();
    const bool is_planned = jobs_.is_of_first(rank);
    numbers.cores = is_planned ? cores_of(numbers.local_rank) : 1;
    numbers.oversubscribed = load().oversubscribed();
    if (is_planned && !networks_.empty()) numbers.networks = networks_[numbers.local_rank];
    if (is_planned && (launch_.settings.own_gpus_only || are_parts(environment_)) && gpus_ > 0) {
        numbers.visible_gpus = visible_gpus(
            environment_, gpus_, gpus_of_rank(numbers.local_rank, numbers.local_size, gpus_));
    }
    numbers.shared_host = launch_.shared_host;
    if (launch_.role == Role::ranks && numbers.size > 1) numbers.ambiguous = ambiguous_interfaces();
    numbers.shm_directory = memory_;
    return numbers;
}

Meeting NodeJob::meeting() const {
    return {go_.master_address + ":" + std::to_string(go_.master_port), launch_.nspace,
            go_.workers};
}

env::Environment NodeJob::of_job() const {
    env::Environment environment = environment_;
    for (const auto& [name, value] : launch_.environment) environment[name] = value;
    return environment;
}

env::Environment NodeJob::inherited() const {
    env::Environment environment = environment_;
    if (launch_.role == Role::script) {
        env::make_script(environment, launch_.slurm);
    } else {
        env::scrub(environment);
        environment.insert(launch_.slurm.begin(), launch_.slurm.end());
    }
    return environment;
}

env::Environment NodeJob::environment_of(int rank, env::Environment inherited) const {
    env::Environment environment = std::move(inherited);
    for (const auto& [name, value] : launch_.environment) environment[name] = value;
    add_variables(environment, jobs_.programs(), rank, meeting());
    env::leave_to_server(environment);
    const env::RankNumbers numbers = numbers_of(rank);
    if (!jobs_.is_of_first(rank)) {  // of MPI alone
        env::add_slurm(environment, numbers);
        env::add_openmpi(environment, numbers);
    } else if (launch_.role == Role::ranks) {
        env::add_slurm(environment, numbers);
        env::add_torch(environment, numbers);
        env::add_jax(environment, numbers);
        env::add_tensorflow(environment, numbers, go_.workers);
        env::add_horovod(environment, numbers);
        env::add_openmpi(environment, numbers);
        env::add_intel_mpi(environment, numbers);
        env::add_mpich(environment, numbers);
        env::add_devices(environment, numbers);
    }
    env::add_network(environment, numbers);
    env::add_batchai(environment, numbers, sys::sibling_library("batchai/python"),
                     sys::sibling_library("libbatchai_collectives.so.0"));
    return environment;
}

// The variables that the launcher sets, with their final values. A value that the user has set may
// override the launcher's.
Planned NodeJob::planned() const {
    env::Environment bare;
    if (environment_.contains("SLURM_JOB_ID")) bare["SLURM_JOB_ID"];
    Planned planned;
    for (const int rank : ranks()) {
        const int local = launch_.map.local_rank(rank);
        RankPlan plan;
        plan.rank = rank;
        plan.gpus = gpus_of_rank(local, launch_.map.local_size(node_.node), gpus_);
        if (!cpus_.empty()) plan.cpus = cpus_[local];
        const env::Environment whole = environment_of(rank, inherited());
        for (const auto& [name, value] : environment_of(rank, bare)) {
            const auto set = whole.find(name);
            if (set != whole.end()) plan.environment.insert(*set);
        }
        plan.environment.erase("SLURM_JOB_ID");
        planned.ranks.push_back(std::move(plan));
    }
    return planned;
}

// An MPI program's last argument is a shell command. It reads the file that job preparation has
// added to bashrc.
std::vector<std::string> NodeJob::command_of(const Program& program) const {
    std::vector<std::string> argv = program.argv;
    if (!program.is_mpi) return argv;
    const std::string temporary = env::value_of(of_job(), "AZ_BATCHAI_JOB_TEMP");
    if (sys::is_regular_file(temporary + "/" + job::kAddedToBashrc))
        argv.back() = job::reading_bashrc(argv.back());
    return argv;
}

SpawnRequest NodeJob::request_for(int rank) const {
    SpawnRequest request;
    const Program& program = *program_of(jobs_.programs(), rank).program;
    request.argv = command_of(program);
    request.directory = program.directory.empty() ? launch_.directory : program.directory;
    request.with_input = rank == 0;
    if (!cpus_.empty() && jobs_.is_of_first(rank))
        request.cpus = cpus_[launch_.map.local_rank(rank)];
    request.environment = environment_of(rank, inherited());
    if (!program.directory.empty()) request.environment["PWD"] = program.directory;
    return request;
}

env::Environment NodeJob::users(int rank) const {
    env::Environment users = inherited();
    const Program& program = *program_of(jobs_.programs(), rank).program;
    users.insert(launch_.environment.begin(), launch_.environment.end());
    users.insert(program.environment.begin(), program.environment.end());
    return users;
}

pmix::JobInfo NodeJob::pmix_info(const Job& job) const {
    const auto& nodes = job.map.nodes;
    const auto own = std::find(nodes.begin(), nodes.end(), node_.name);
    const Program& program = job.programs.front();
    pmix::JobInfo info{job,
                       own == nodes.end() ? -1 : static_cast<int>(own - nodes.begin()),
                       launch_.slots,
                       program.directory.empty() ? launch_.directory : program.directory,
                       fmt::format("{}", fmt::join(program.argv, " ")),
                       {},
                       tells_oversubscribed()};
    if (job.first > 0) return info;
    for (const std::vector<int>& cpus : cpus_) info.cpusets.push_back(sys::number_list(cpus));
    return info;
}

// ---- logs ---------------------------------------------------------------------------------------

void NodeJob::note(const std::string& line) const {
    if (launch_.execution_log.empty()) return;
    (void)job::append_execution_log(job::expand(launch_.execution_log, of_job()), line);
}

void NodeJob::note_start(const Job& job) const {
    const std::vector<int> all = ranks_of(job);
    if (all.empty()) return;
    std::map<const Program*, std::vector<int>> by_program;
    for (const int rank : all) {
        by_program[program_of(jobs_.programs(), rank).program].push_back(rank);
    }
    for (const auto& [program, own] : by_program) {
        note(fmt::format("starting ranks {} of {}: {}", jobs_.map().names(own), job.map.size(),
                         fmt::join(program->argv, " ")));
    }
    if (job.first > 0) return;
    std::vector<std::string> cpusets;
    for (const std::vector<int>& cpus : cpus_) cpusets.push_back(sys::number_list(cpus));
    note(cpus_.empty() ? fmt::format("{} ranks on {} of {} cores: not bound", all.size(),
                                     granted_cores_, cores_.size())
                       : fmt::format("bound to cpus {}", fmt::join(cpusets, ", ")));
}

void NodeJob::record(job::Event::Kind kind) const {
    if (launch_.record.empty()) return;
    (void)job::append_event(launch_.record, {kind, sys::wall_clock(), node_.name, {}, {}});
}

}  // namespace batchai::launcher

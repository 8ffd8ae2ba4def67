// SPDX-License-Identifier: Apache-2.0
//
// Agent: the steps from hello to running ranks.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "job/bashrc.hpp"
#include "job/expand.hpp"
#include "launcher/agent/agent.hpp"
#include "launcher/agent/reserved_port.hpp"
#include "launcher/common/readiness.hpp"
#include "slurm/host_list.hpp"
#include "sys/clock.hpp"
#include "sys/file.hpp"
#include "sys/text.hpp"

namespace batchai::launcher {

void Agent::say_hello() {
    const auto gpus = count_gpus(environment_);
    gpus_ = gpus ? *gpus : 0;
    topology_ = load_topology(gpus_ > 0);
    cores_ = allowed_cores(topology_);
    Hello hello;
    hello.version = BATCHAI_VERSION;
    hello.node = bootstrap_.node;
    hello.name = bootstrap_.name;
    hello.gpus = gpus_;
    granted_cores_ = granted_cores(cores_, env::value_of(environment_, "SLURM_JOB_CPUS_PER_NODE"),
                                   node_of_job());
    hello.granted_cores = granted_cores_;
    if (bootstrap_.node == 0) master_port_ = reserve_port();
    hello.free_port = master_port_.number;
    const auto tree_port = branch_->listen(interface_.address);
    hello.tree_port = tree_port ? *tree_port : 0;
    hello.in_job_mounts = is_in_job_mounts(bootstrap_.job_id);
    hello.clock = sys::wall_clock();
    root_->send(hello);
    // The root takes no failure from an agent that it does not know yet.
    if (!gpus) return fail(gpus.error().message);
    if (!tree_port) return fail(tree_port.error().message);
    if (auto usable = check_loopback(); !usable) return fail(usable.error().message);
    // The PMIx server starts while other agents still connect.
    const auto served = pmix_->serve({bootstrap_.name, bootstrap_.node, guarded_.server_directory(),
                                      guarded_.client_directory(), topology_.get()});
    if (!served) fail(served.error().message + env::blame_settings(environment_));
}

// Runs job preparation if the plugin has not done it. No rank of any node starts before preparation
// is done on all nodes.
void Agent::prepare() {
    if (!pmix_->serves() || !choose_interface()) return;  // already reported
    if (auto written = write_host_file(); !written) return fail(written.error().message);
    if (job_.preparation.empty() || job_.settings.dry_run != DryRun::no) return on_prepared();
    if (const auto failure = run_preparation(); failure.code != 0)
        fail("batchai-prep cannot be started: " + failure.message);
}

// False: the interface cannot be used, and choose_interface() has reported it.
bool Agent::choose_interface() {
    const std::string& asked = job_.settings.interface;
    if (asked.empty()) return true;
    interface_ = interface_named(asked);
    if (!interface_.name.empty()) return true;
    fail(fmt::format("interface {}: not there, not up, or without an IPv4 address", asked));
    return false;
}

// Calls say_prepared() once the parent agent is connected.
void Agent::on_prepared() {
    branch_->connect(job_.map, job_.parent_address, job_.parent_port);
}

void Agent::say_prepared() {
    Prepared prepared{interface_.address, {}};
    const int count = job_.map.local_size(bootstrap_.node);
    while (static_cast<int>(worker_ports_.size()) < count) {
        const ReservedPort& port = worker_ports_.emplace_back(reserve_port());
        if (port.number == 0) break;
        prepared.ports.push_back(port.number);
    }
    root_->send(prepared);
}

// Starts the rendezvous server for this node's ranks; the root keeps the values. False: the error
// was reported to the root.
bool Agent::serve_rendezvous() {
    if (job_.map.local_size(bootstrap_.node) == 0 || job_.map.size() == 1) return true;
    auto server =
        gloo::Rendezvous::listen(loop_, [this](std::uint64_t id, const gloo::Request& request) {
            root_->send(GlooRequest{id, request});
        });
    if (!server) {
        fail(server.error().message);
        return false;
    }
    rendezvous_ = std::move(*server);
    return true;
}

// The node's index in the whole job. A restart may leave out nodes, and Slurm's list of CPUs covers
// the whole job.
int Agent::node_of_job() const {
    const auto nodes = slurm::expand_hostlist(env::value_of(environment_, "SLURM_JOB_NODELIST"));
    const auto found = std::find(nodes.begin(), nodes.end(), bootstrap_.name);
    return found == nodes.end() ? bootstrap_.node : static_cast<int>(found - nodes.begin());
}

SpawnFailure Agent::run_preparation() {
    SpawnRequest request;
    request.argv = job_.preparation;
    request.environment = inherited();
    for (const auto& [name, value] : job_.environment) request.environment[name] = value;
    request.directory = job_.directory;
    return preparation_.start(loop_, std::move(request), job_.preparation_input);
}

void Agent::on_child(pid_t pid, int status) {
    pmix_->reap(pid, status);
    if (!preparation_.is(pid)) return watch_->reap(pid);  // or left behind by a rank
    const auto error = preparation_.end(status, bootstrap_.name);
    if (ending_ != Ending::no) return ranks_->started_all();
    if (error) return fail(*error);
    on_prepared();
}

void Agent::start_ranks() {
    place_ranks();
    if (!serve_rendezvous()) return;
    if (job_.settings.dry_run != DryRun::no) return tell_plan();
    if (auto opened = output_.open(job_, bootstrap_.node, of_job(), meeting()); !opened) {
        return fail(opened.error().message);
    }
    const int node = bootstrap_.node;
    const std::vector<int> ranks = job_.map.ranks_on(node);
    pmix::JobInfo info{job_.nspace,
                       job_.map,
                       job_.programs,
                       node,
                       job_.directory,
                       fmt::format("{}", fmt::join(job_.programs.front().argv, " ")),
                       {},
                       as_xml(topology_),
                       tells_oversubscribed()};
    for (const std::vector<int>& cpus : cpus_) info.cpusets.push_back(sys::number_list(cpus));
    if (auto registered = pmix_->register_job(info); !registered) {
        return fail(registered.error().message);
    }
    if (!ranks.empty()) {
        note_commands(ranks);
        note(cpus_.empty() ? fmt::format("{} ranks on {} of {} cores: not bound", ranks.size(),
                                         granted_cores_, cores_.size())
                           : fmt::format("bound to cpus {}", fmt::join(info.cpusets, ", ")));
    }
    record(job::Event::Kind::started);
    master_port_.socket.reset();  // rank 0 listens there
    worker_ports_.clear();
    if (!start_pmi1()) return;
    for (const int rank : ranks) {
        auto request = request_for(rank);
        if (!request) return fail(request.error().message);
        const auto pmi1 = offer_pmi1(*request, rank);
        if (!pmi1) return fail(pmi1.error().message);
        ranks_->start(rank, *request);
    }
    const double quiet_after = job_.settings.hang_report;
    watch_->start(std::chrono::milliseconds(static_cast<long>(quiet_after * 1000)));
    ranks_->started_all();
}

void Agent::note_commands(const std::vector<int>& ranks) const {
    std::map<const Program*, std::vector<int>> by_program;
    for (const int rank : ranks) {
        by_program[program_of(job_.programs, rank).program].push_back(rank);
    }
    for (const auto& [program, own] : by_program) {
        note(fmt::format("starting ranks {} of {}: {}", fmt::join(own, ","), job_.map.size(),
                         fmt::join(program->argv, " ")));
    }
}

// An MPI program's last argument is a shell command. It reads the file that job preparation has
// added to bashrc.
std::vector<std::string> Agent::command_of(const Program& program) const {
    std::vector<std::string> argv = program.argv;
    if (!program.is_mpi) return argv;
    const std::string temporary = env::value_of(of_job(), "AZ_BATCHAI_JOB_TEMP");
    if (sys::is_regular_file(temporary + "/" + job::kAddedToBashrc))
        argv.back() = job::reading_bashrc(argv.back());
    return argv;
}

sys::Result<SpawnRequest> Agent::request_for(int rank) {
    SpawnRequest request;
    const Program& program = *program_of(job_.programs, rank).program;
    request.argv = command_of(program);
    request.directory = program.directory.empty() ? job_.directory : program.directory;
    request.with_input = rank == 0;
    if (!cpus_.empty()) request.cpus = cpus_[job_.map.local_rank(rank)];
    env::Environment users = inherited();
    request.environment = environment_of(rank, users);
    if (!program.directory.empty()) request.environment["PWD"] = program.directory;
    if (job_.role == Role::ranks) {
        auto pmix = pmix_->environment(rank);
        if (!pmix) return pmix.error();
        for (auto& [name, value] : *pmix) request.environment[name] = value;
        watch_->offer(rank, request.environment);
    }
    users.insert(job_.environment.begin(), job_.environment.end());
    users.insert(program.environment.begin(), program.environment.end());
    env::note_new_as_ours(request.environment, users);
    return request;
}

// The preparation may read this file, and scripts that start MPI themselves do.
sys::Result<void> Agent::write_host_file() const {
    const std::string path = env::value_of(of_job(), "AZ_BATCHAI_MPI_HOST_FILE");
    if (job_.host_file.empty() || path.empty()) return {};
    return sys::write_file(path, job_.host_file, 0644);
}

// note() and record() ignore errors: a full disk must not end the job.
void Agent::note(const std::string& line) const {
    if (job_.execution_log.empty()) return;
    (void)job::append_execution_log(job::expand(job_.execution_log, of_job()), line);
}

void Agent::record(job::Event::Kind kind) const {
    if (job_.record.empty()) return;
    (void)job::append_event(job_.record, {kind, sys::wall_clock(), bootstrap_.name, {}, {}});
}

}  // namespace batchai::launcher

// SPDX-License-Identifier: Apache-2.0
//
// Agent: the steps from hello to running ranks.
#include "launcher/agent/agent.hpp"
#include "launcher/common/readiness.hpp"
#include "sys/clock.hpp"

namespace batchai::launcher {

void Agent::say_hello() {
    Hello hello;
    hello.version = BATCHAI_VERSION;
    hello.node = bootstrap_.node;
    hello.name = bootstrap_.name;
    const auto machine = job_.describe_machine(hello);
    if (bootstrap_.node == 0) hello.free_port = ports_.reserve_master();
    const auto tree_port = branch_.listen(job_.interface().address);
    hello.tree_port = tree_port ? *tree_port : 0;
    hello.in_job_mounts = is_in_job_mounts(bootstrap_.job_id);
    for (const Interface& one : interfaces()) hello.addresses.push_back(one.address);
    hello.clock = sys::wall_clock();
    root_.send(hello);
    // The root takes no failure from an agent that it does not know yet.
    if (!machine) return fail(machine.error().message);
    if (!tree_port) return fail(tree_port.error().message);
    if (auto usable = check_loopback(); !usable) return fail(usable.error().message);
    // The PMIx server starts while other agents still connect.
    const auto served = pmix_.serve({bootstrap_.name, bootstrap_.node, guarded_.server_directory(),
                                     guarded_.client_directory(), job_.topology().get()});
    if (!served) fail(served.error().message + env::blame_settings(job_.environment()));
}

// Runs job preparation if the plugin has not done it. No rank of any node starts before preparation
// is done on all nodes.
void Agent::prepare() {
    if (!pmix_.serves()) return;  // already reported
    if (auto chosen = job_.choose_interface(); !chosen) return fail(chosen.error().message);
    if (auto written = job_.write_host_file(); !written) return fail(written.error().message);
    const Launch& job = job_.launch();
    if (job.preparation.empty() || job.settings.dry_run != DryRun::no) return on_prepared();
    SpawnRequest request;
    request.argv = job.preparation;
    request.environment = job_.inherited();
    for (const auto& [name, value] : job.environment) request.environment[name] = value;
    request.directory = job.directory;
    const auto failure = preparation_.start(loop_, std::move(request), job.preparation_input);
    if (failure.code != 0) fail("batchai-prep cannot be started: " + failure.message);
}

void Agent::child_ended(pid_t pid, int status) {
    pmix_.reap(pid, status);
    if (!preparation_.is(pid)) return watch_.reap(pid);  // or left behind by a rank
    const auto error = preparation_.end(status, bootstrap_.name);
    if (ending_ != Ending::no) return ranks_.started_all();
    if (error) return fail(*error);
    on_prepared();
}

void Agent::on_prepared() {
    const Launch& job = job_.launch();
    branch_.connect(job.map, job.parent_address, job.parent_port);
}

void Agent::parent_connected() {
    const int count = static_cast<int>(job_.ranks().size());
    root_.send(Prepared{job_.interface().address, ports_.reserve_workers(count)});
}

// Starts the rendezvous server for this node's ranks; the root keeps the values. Returns its port;
// 0: the ranks need none.
sys::Result<int> Agent::serve_rendezvous() {
    if (job_.ranks().empty() || job_.launch().map.size() == 1) return 0;
    auto server =
        gloo::Rendezvous::listen(loop_, [this](std::uint64_t id, const gloo::Request& request) {
            root_.send(GlooRequest{id, request});
        });
    if (!server) return server.error();
    rendezvous_ = std::move(*server);
    return rendezvous_->port();
}

void Agent::start_ranks(Go go) {
    const auto rendezvous_port = serve_rendezvous();
    if (!rendezvous_port) return fail(rendezvous_port.error().message);
    job_.make_plan(std::move(go), *rendezvous_port);
    const Launch& job = job_.launch();
    if (job.settings.dry_run != DryRun::no) {
        root_.send(job_.planned());
        return ranks_.started_all();
    }
    if (auto opened = ranks_.output().open(job, bootstrap_.node, job_.of_job(), job_.meeting());
        !opened) {
        return fail(opened.error().message);
    }
    if (auto registered = pmix_.register_job(); !registered) {
        return fail(registered.error().message);
    }
    job_.note_start(job_.jobs().list().front());
    job_.record(job::Event::Kind::started);
    ports_.release();
    for (const int rank : job_.ranks()) {
        if (auto started = start_rank(rank); !started) return fail(started.error().message);
    }
    const double quiet_after = job.settings.hang_report;
    watch_.start(std::chrono::milliseconds(static_cast<long>(quiet_after * 1000)));
    ranks_.started_all();
}

sys::Result<void> Agent::start_rank(int rank) {
    SpawnRequest request = job_.request_for(rank);
    if (job_.launch().role == Role::ranks) {
        if (auto offered = pmix_.offer_pmix(request, rank); !offered) return offered;
        watch_.offer(rank, job_.jobs().of(rank).first, request.environment);
    }
    env::note_new_as_ours(request.environment, job_.users(rank));
    const auto end = pmix_.offer_pmi1(request, rank);  // closed when the rank runs
    if (!end) return end.error();
    ranks_.start(rank, request);
    return {};
}

// ---- further jobs -------------------------------------------------------------------------------

void Agent::on_new_job(Job job) {
    job_.add(std::move(job));
    branch_.set_map(job_.jobs().map());
    root_.send(JobReady{prepare(job_.jobs().list().back())});
}

// Returns why its ranks here cannot start; empty: they can.
std::string Agent::prepare(const Job& job) {
    if (auto registered = pmix_.register_job(job); !registered) return registered.error().message;
    for (const int rank : job_.ranks_of(job)) {
        if (const SpawnFailure failure = check_program(job_.request_for(rank)); failure.code != 0)
            return failure.message + " (on " + bootstrap_.name + ")";
    }
    return {};
}

void Agent::on_job_start(bool start) {
    const Job& job = job_.jobs().list().back();
    if (!start) {
        pmix_.remove_last_job(job);
        job_.remove_last();
        return branch_.set_map(job_.jobs().map());
    }
    ++jobs_started_;
    if (stage_ == Stage::ranks_done || stage_ == Stage::reported) stage_ = Stage::launched;
    ranks_.start_more();
    job_.note_start(job);
    for (const int rank : job_.ranks_of(job)) {
        if (ending_ != Ending::no) break;
        auto started =
            ranks_.output().open_further(job_.launch(), rank, job_.jobs().map().name(rank));
        if (started) started = start_rank(rank);
        if (!started) return fail(started.error().message);
    }
    ranks_.started_all();
}

}  // namespace batchai::launcher

// SPDX-License-Identifier: Apache-2.0
//
// Coordinator, first part of a job's life: the agents arrive, are told what to start, or the plan
// is printed.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdio>

#include "launcher/agent/binding.hpp"
#include "launcher/agent/ranks.hpp"
#include "launcher/coordinator.hpp"

namespace batchai::launcher {

void Coordinator::accept() {
    sys::UniqueFd fd(::accept4(listener_->fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) return;
    auto& peer = *peers_.emplace_back(std::make_unique<Peer>());
    peer.channel = std::make_unique<Channel>(
        loop_, std::move(fd),
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
    return same_key(hello.agent_key, agent_key_) && hello.node >= 0 &&
           hello.node < static_cast<int>(agents_.size()) && agents_[hello.node].peer == nullptr;
}

void Coordinator::on_hello(Peer& peer, Reader& reader) {
    Hello hello;
    if (!decode(reader, hello) || !is_welcome(hello)) return peer.channel->close();
    const int node = hello.node;
    peer.node = node;
    peer.channel->set_limit(kFrameLimit);
    agents_[node].peer = &peer;
    agents_[node].offset = wall_clock() - hello.clock;
    session_.allocation.nodes[node] = hello.name;
    agents_[node].hello = std::move(hello);
    ++greeted_;
    if (agents_[node].hello.version != BATCHAI_VERSION) {
        return fail(
            wall_clock(),
            fmt::format("{} runs version {} of batchai-launch, not {}", agents_[node].hello.name,
                        agents_[node].hello.version, BATCHAI_VERSION),
            125);
    }
    if (greeted_ == agents_.size() && state_ == State::starting) launch();
}

// All agents are here: nobody else gets in, and nobody's connection keeps the root busy.
void Coordinator::close_door() {
    listener_.reset();
    for (const auto& peer : peers_)
        if (peer->node < 0) peer->channel->close();
}

void Coordinator::launch() {
    close_door();
    std::vector<Hello> facts;
    for (const Agent& agent : agents_) facts.push_back(agent.hello);
    auto work = session_.plan(facts);
    if (!work) return fail(wall_clock(), work.error().message, 125);
    map_ = work->map;
    if (session_.dry_run) {
        print_plan(*work);
        return say_bye();
    }
    relay_.set_map(map_);
    state_ = State::running;
    for (int node = 0; node < static_cast<int>(agents_.size()); ++node) {
        agents_[node].peer->channel->send(launch_for(node, *work));
    }
}

void Coordinator::on_prepared(int node) {
    agents_[node].prepared = true;
    const bool all =
        std::all_of(agents_.begin(), agents_.end(), [](const Agent& a) { return a.prepared; });
    if (!all || state_ != State::running) return;
    to_all(Go{});
    start_input();
}

Launch Coordinator::launch_for(int node, const Work& work) const {
    Launch launch;
    launch.root_key = root_key_;
    launch.nspace = fmt::format("batchai.{}.{}", session_.allocation.job_id, root_key_.substr(48));
    launch.map = work.map;
    launch.argv = work.argv;
    launch.directory = work.directory;
    if (!work.environments.empty()) launch.environment = work.environments[node];
    launch.master_address = agents_[0].peer->channel->peer_address();
    launch.master_port = agents_[0].hello.free_port;
    launch.shared_host = session_.allocation.local;
    launch.output_directory = session_.output_directory;

    if (!work.execution_logs.empty()) launch.execution_log = work.execution_logs[node];
    launch.record = work.record;
    if (!work.preparations.empty()) launch.preparation = work.preparations[node];
    launch.preparation_input = work.preparation_input;
    launch.host_file = work.host_file;
    return launch;
}

void Coordinator::print_plan(const Work& work) const {
    for (int rank = 0; rank < work.map.size(); ++rank) {
        const int node = work.map.node_of(rank);
        const bool shared = session_.allocation.local;
        const Hello& hello = agents_[node].hello;
        std::vector<Core> cores;
        for (int cpu : hello.cores) cores.push_back({cpu});
        if (!shared && hello.granted_cores < static_cast<int>(cores.size())) cores.clear();
        const auto shares =
            share_cores(cores, shared ? work.map.size() : work.map.local_size(node));
        const std::string bound =
            shares.empty()
                ? "not bound"
                : "cores " + number_list(shares[shared ? rank : work.map.local_rank(rank)]);
        const std::string line = fmt::format("rank {} on {}, {}: {}\n", rank, work.map.nodes[node],
                                             bound, fmt::join(work.argv, " "));
        std::fputs(line.c_str(), stdout);
    }
}

}  // namespace batchai::launcher

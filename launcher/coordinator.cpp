// SPDX-License-Identifier: Apache-2.0
#include "launcher/coordinator.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <sstream>

#include "launcher/agent/binding.hpp"
#include "launcher/agent/processes.hpp"
#include "launcher/agent/ranks.hpp"

namespace batchai::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kStall{10};
// From the order to end until the root gives up waiting: the agents' grace and some more.
constexpr milliseconds kEndDeadline{5000};
constexpr milliseconds kByeDeadline{5000};

void say(const std::string& line) {
    fmt::print(stderr, "batchai-launch: {}\n", line);
}

}  // namespace

Coordinator::Coordinator(Session session)
    : session_(std::move(session)),
      agents_(session_.allocation.nodes.size()),
      stall_(loop_, [this] { on_stall(); }),
      timeout_(loop_,
               [this] {
                   fail(wall_clock(),
                        fmt::format("time-out: the job was ended after {} s", *session_.timeout),
                        124);
               }),
      deadline_(loop_, [this] { state_ == State::over ? loop_.stop() : say_bye(); }) {}

SessionResult Coordinator::run() {
    block_signals({SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT, SIGURG});
    std::signal(SIGPIPE, SIG_IGN);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (auto opened = open(); !opened) {
        say(opened.error().message);
        return {125, "batchai-launch: " + opened.error().message, false};
    }
    loop_.run();
    kill_descendants();
    if (outcome_.failed()) {
        std::fputs(outcome_.text(map_, true).c_str(), stderr);
        if (srun_matters_) say_starter_words();
    }
    // A write that nobody lets finish is still in libuv's hands; the process ends soon.
    for (auto* sink : {&out_, &err_}) {
        if (!(*sink)->idle()) (void)sink->release();
    }
    return {outcome_.exit_code(), outcome_.line(map_), outcome_.logged()};
}

sys::Result<void> Coordinator::open() {
    const bool local = session_.allocation.local;
    auto listener = listen_anywhere(local);
    if (!listener) return listener.error();
    signals_ = std::make_unique<SignalEvents>(
        loop_,
        std::initializer_list<int>{SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT,
                                   SIGURG},
        [this](int signal) { on_signal(signal); });
    const auto broken = [this](const std::string& why) {
        fail(wall_clock(), "writing the ranks' output: " + why, 125);
    };
    out_ = std::make_unique<Sink>(loop_, session_.output, broken);
    err_ = std::make_unique<Sink>(loop_, session_.error, broken);
    out_->set_on_idle([this] { check_over(); });
    err_->set_on_idle([this] { check_over(); });
    const int port = listener->port;
    listener_ = std::make_unique<Poll>(loop_, std::move(listener->fd), [this](int) { accept(); });
    const std::vector<std::string> addresses =
        local ? std::vector<std::string>{"127.0.0.1"} : own_addresses();
    if (addresses.empty()) return sys::Error{"this machine has no network address"};
    auto starters =
        start_agents(session_.allocation,
                     {agent_key_, root_key_, port, addresses, -1, {}, session_.owned_directory});
    if (!starters) return starters.error();
    starters_ = std::move(*starters);
    for (Starter& starter : starters_) {
        if (!starter.errors) continue;
        starter_errors_.push_back(
            std::make_unique<Poll>(loop_, std::move(starter.errors), [this](int fd) {
                std::array<char, 4096> bytes{};
                const ssize_t size = ::read(fd, bytes.data(), bytes.size());
                if (size <= 0) return starter_errors_.clear();
                if (starter_words_.size() < bytes.size()) starter_words_.append(bytes.data(), size);
            }));
    }
    stall_.start(kStall, kStall);
    if (session_.timeout) {
        timeout_.start(milliseconds(static_cast<long>(*session_.timeout * 1000)));
    }
    return {};
}

// ---- agents arrive
// --------------------------------------------------------------------------------

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

void Coordinator::launch() {
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
        std::vector<Core> cores;
        for (int cpu : agents_[node].hello.cores) cores.push_back({cpu});
        const auto shares =
            share_cores(cores, shared ? work.map.size() : work.map.local_size(node));
        const std::string bound =
            shares.empty() ? "not bound"
                           : "cores " + cpu_list(shares[shared ? rank : work.map.local_rank(rank)]);
        fmt::print("rank {} on {}, {}: {}\n", rank, work.map.nodes[node], bound,
                   fmt::join(work.argv, " "));
    }
    std::fflush(stdout);
}

// ---- the job runs
// ---------------------------------------------------------------------------------

void Coordinator::on_message(int node, Kind kind, Reader& reader) {
    switch (kind) {
        case Kind::output:
            if (Output output; decode(reader, output)) on_output(node, std::move(output));
            return;
        case Kind::input_taken:
            return read_input();
        case Kind::prepared:
            return on_prepared(node);
        case Kind::rank_end:
            if (RankEnd end; decode(reader, end)) on_rank_end(node, std::move(end));
            return;
        case Kind::agent_error:
            if (AgentError error; decode(reader, error)) {
                outcome_.add(wall_clock(), error.line, error.code, error.logged);
                end_job(SIGTERM);
            }
            return;
        case Kind::node_done:
            agents_[node].done = true;
            return check_over();
        default:
            relay_.on_message(node, kind, reader);
            return check_awaited();
    }
}

void Coordinator::on_output(int node, Output output) {
    Sink& sink = output.stream == Stream::out ? *out_ : *err_;
    const std::uint64_t size = output.bytes.size();
    sink.write(std::move(output.bytes),
               [this, node, size] { agents_[node].peer->channel->send(OutputTaken{size}); });
}

void Coordinator::on_rank_end(int node, RankEnd end) {
    if (end.rank < 0 || end.rank >= map_.size()) return;
    end.time += agents_[node].offset;
    relay_.on_gone(end);
    outcome_.add(std::move(end));
    if (outcome_.failed()) return end_job(SIGTERM);
    check_awaited();
}

// A rank that ends well, but leaves the others waiting for it, is a failure like any other.
void Coordinator::check_awaited() {
    const int rank = relay_.awaited();
    if (rank < 0 || state_ != State::running) return;
    fail(
        wall_clock(),
        fmt::format("rank {} on {} ended with code 0 while others wait for it in PMIx (MPI_Init, a "
                    "barrier or MPI_Finalize)",
                    rank, map_.nodes[map_.node_of(rank)]),
        1);
}

void Coordinator::on_agent_lost(int node) {
    Agent& agent = agents_[node];
    if (state_ == State::over || agent.done) return;
    agent.done = srun_matters_ = true;
    fail(wall_clock(),
         fmt::format("lost the agent on {}: the node is down, or the agent was killed",
                     agent.hello.name),
         125);
    check_over();
}

void Coordinator::fail(double time, const std::string& line, int code) {
    outcome_.add(time, "batchai-launch: " + line, code);
    end_job(SIGTERM);
}

void Coordinator::end_job(int signal) {
    if (state_ == State::starting) return say_bye();
    if (state_ != State::running) return;
    state_ = State::ending;
    timeout_.stop();
    to_all(End{signal});
    deadline_.start(kEndDeadline);
    check_over();
}

// ---- it ends
// --------------------------------------------------------------------------------------

void Coordinator::check_over() {
    if (state_ != State::running && state_ != State::ending) return;
    const bool done =
        std::all_of(agents_.begin(), agents_.end(), [](const Agent& a) { return a.done; });
    if (done && out_->idle() && err_->idle()) say_bye();
}

void Coordinator::say_bye() {
    if (state_ == State::over) return;
    state_ = State::over;
    stall_.stop();
    timeout_.stop();
    deadline_.start(kByeDeadline);
    to_all(Bye{});
    listener_.reset();
    // Agents that have not come yet find nobody.
    if (greeted_ < agents_.size()) {
        for (const Starter& starter : starters_) {
            if (starter.pid > 0) ::kill(starter.pid, SIGTERM);
        }
    }
    check_gone();
}

void Coordinator::check_gone() {
    const bool gone =
        std::all_of(starters_.begin(), starters_.end(), [](const Starter& s) { return s.pid < 0; });
    if (state_ == State::over && gone) loop_.stop();
}

void Coordinator::on_child() {
    int status = 0;
    for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
        const auto found = std::find_if(starters_.begin(), starters_.end(),
                                        [pid](const Starter& s) { return s.pid == pid; });
        if (found == starters_.end()) continue;
        found->pid = -1;
        if (state_ == State::running && !session_.allocation.local) {
            fail(wall_clock(), "srun has ended before the job", 125);
        } else if (state_ == State::starting) {
            srun_matters_ = true;
            const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            fail(wall_clock(),
                 fmt::format("{} ended with code {} before all agents were there", found->name,
                             code),
                 125);
        }
    }
    check_gone();
}

void Coordinator::on_signal(int signal) {
    if (signal == SIGCHLD) return on_child();
    if (std::find(kForwarded.begin(), kForwarded.end(), signal) != kForwarded.end()) {
        if (state_ == State::running) to_all(Signal{signal});
        return;
    }
    if (state_ == State::ending) return to_all(End{SIGKILL});  // the user insists
    outcome_.add(wall_clock(), fmt::format("batchai-launch: ended by {}", signal_name(signal)),
                 128 + signal);
    end_job(signal == SIGHUP ? SIGTERM : signal);
}

// What srun said, but for its complaint about SLURM_CPU_BIND=none where there is no binding anyway.
void Coordinator::say_starter_words() {
    std::istringstream lines(starter_words_);
    for (std::string line; std::getline(lines, line);) {
        if (line.find("lacks support for cpu binding") == std::string::npos) {
            fmt::print(stderr, "{}\n", line);
        }
    }
    starter_words_.clear();
}

// ---- somebody is late
// -----------------------------------------------------------------------------

std::string Coordinator::names(const std::vector<int>& nodes) const {
    std::vector<std::string> list;
    for (int node : nodes) list.push_back(session_.allocation.nodes[node]);
    if (list.size() > 8) {
        const auto more = list.size() - 8;
        list.resize(8);
        list.push_back(fmt::format("and {} more", more));
    }
    return fmt::format("{}", fmt::join(list, " "));
}

void Coordinator::on_stall() {
    if (state_ == State::starting) {
        std::vector<int> missing;
        for (int node = 0; node < static_cast<int>(agents_.size()); ++node) {
            if (agents_[node].peer == nullptr) missing.push_back(node);
        }
        say(fmt::format("still waiting for {} of {} agents: {}", missing.size(), agents_.size(),
                        names(missing)));
        say_starter_words();
        return;
    }
    const auto fence = relay_.missing();
    if (!fence) return stalled_fence_.reset();
    // A fence is stalled when it was under way at the last look; said once.
    if (stalled_fence_ == fence->fence) {
        say(fmt::format("a PMIx fence (start-up, barrier or end) waits for ranks on {}",
                        names(fence->nodes)));
        stalled_fence_ = std::numeric_limits<std::uint64_t>::max();
    } else if (stalled_fence_ != std::numeric_limits<std::uint64_t>::max()) {
        stalled_fence_ = fence->fence;
    }
}

// ---- standard input
// -------------------------------------------------------------------------------

void Coordinator::start_input() {
    // Reading from a terminal that belongs to somebody else would stop us.
    const bool background = ::isatty(0) != 0 && ::tcgetpgrp(0) != ::getpgrp();
    if (!session_.output_is_ours || background) {
        agents_[0].peer->channel->send(Input{});
        return;
    }
    input_buffer_.resize(1 << 16);
    input_request_.data = this;
    read_input();
}

void Coordinator::read_input() {
    if (state_ != State::running || input_buffer_.empty()) return;
    const uv_buf_t buffer = uv_buf_init(input_buffer_.data(), input_buffer_.size());
    uv_fs_read(loop_.get(), &input_request_, 0, &buffer, 1, -1, [](uv_fs_t* request) {
        const ssize_t size = request->result;
        uv_fs_req_cleanup(request);
        static_cast<Coordinator*>(request->data)->send_input(size);
    });
}

void Coordinator::send_input(ssize_t size) {
    if (state_ != State::running) return;
    agents_[0].peer->channel->send(
        Input{input_buffer_.substr(0, static_cast<std::size_t>(std::max<ssize_t>(size, 0)))});
}

// ---- sending
// --------------------------------------------------------------------------------------

template <class Message>
void Coordinator::to_all(const Message& message) {
    for (Agent& agent : agents_) {
        if (agent.peer != nullptr) agent.peer->channel->send(message);
    }
}

void Coordinator::send(int node, const FenceDone& message) {
    agents_[node].peer->channel->send(message);
}
void Coordinator::send(int node, const ModexRequest& message) {
    agents_[node].peer->channel->send(message);
}
void Coordinator::send(int node, const ModexReply& message) {
    agents_[node].peer->channel->send(message);
}
void Coordinator::send(int node, const StoreReply& message) {
    agents_[node].peer->channel->send(message);
}

}  // namespace batchai::launcher

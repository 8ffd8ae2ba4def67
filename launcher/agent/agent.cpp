// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/agent.hpp"

#include "launcher/common/say.hpp"
#include "launcher/pmix/guarded_accept.hpp"
#include "sys/tcp_owner.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace batchai::launcher {

using std::chrono::milliseconds;

namespace {

// For the root to find that an agent is gone: a little more than Channel takes.
constexpr std::chrono::milliseconds kBranchGrace{12'000};

// Output under way to the root: above the first the ranks are no longer read, below the second
// again.
constexpr std::uint64_t kHighWater = 8 << 20, kLowWater = 4 << 20;

// What Slurm sends to guard and agent alike comes twice.
constexpr milliseconds kSameSignal{100};

}  // namespace

Agent::Agent(Bootstrap bootstrap, Guarded guarded)
    : bootstrap_(std::move(bootstrap)),
      guarded_(std::move(guarded)),
      environment_(env::current()),
      last_words_(loop_, {pmix::unheard_connections, [this] { box_.open(); },
                          [this](RankEnd end) { judge(std::move(end)); }}),
      stand_ins_(loop_, {[this] { return any_joined(); },
                         [this](int rank) { return start_stand_in(rank); },
                         [](pid_t pid) { ::kill(pid, SIGKILL); }, pmix::unheard_connections,
                         [this](int rank) { pmix_->forget(rank); }}),
      pages_(guarded_.memory()),
      stacks_(loop_, environment_, [this](const Stack& stack) { root_->send(stack); }) {}

int Agent::run() {
    auto key = TlsKey::make(bootstrap_.key);
    if (!key) {
        say(bootstrap_.name + ": " + key.error().message);
        return 125;
    }
    key_ = std::move(*key);
    auto link = connect_to(bootstrap_.endpoints, *key_);
    if (!link) {
        say(
            fmt::format("{}: cannot reach batchai-launch: {}. With --interface, name a network "
                        "that all nodes reach.",
                        bootstrap_.name, link.error().message));
        return 125;
    }
    interface_ = interface_of(link->socket.get());
    const auto told = sys::tcp_owner(link->socket.get(), sys::End::own);
    signals_ = std::make_unique<SignalEvents>(loop_, handled_signals(),
                                              [this](int signal) { on_signal(signal); });
    ranks_ = std::make_unique<Ranks>(
        loop_,
        Ranks::Callbacks{[this](int r, Stream s, std::string b) { on_output(r, s, std::move(b)); },
                         [this](RankEnd end) { last_words_.add(std::move(end)); },
                         [this] { root_->send(InputTaken{}); },
                         [this](pid_t pid, int status) { on_child(pid, status); },
                         [this] { on_ranks_done(); }});
    root_ = std::make_unique<Channel>(
        loop_, std::move(*link),
        Channel::Callbacks{[this](Kind kind, Reader& reader) { on_message(kind, reader); },
                           [this] { root_lost(); }});
    branch_ = std::make_unique<Branch>(
        loop_, bootstrap_, *key_,
        Branch::Callbacks{[this](const Fence& fence) { root_->send(fence); },
                          [this](Left left) { root_->send(left); }, [this] { say_prepared(); },
                          [this](FenceDone done) { on_fence_done(std::move(done)); },
                          [this](const std::string& why) { on_branch_broken(why); }});
    say_hello();
    // Without it the PMIx and Gloo servers would refuse the ranks.
    if (!told) {
        fail(told.error().in("cannot tell which user holds a TCP connection").message +
             ". Load the kernel module tcp_diag");
    }
    loop_.run();
    guarded_.remove(exit_code_ == 0);  // the guard does it too; but it may have been killed
    return exit_code_;
}

void Agent::on_message(Kind kind, Reader& reader) {
    if (Launch job; kind == Kind::launch && decode(reader, job)) return launch(std::move(job));
    switch (kind) {
        case Kind::go:
            if (decode(reader, go_)) start_ranks();
            return;
        case Kind::output_taken:
            if (OutputTaken taken; decode(reader, taken)) output_taken(taken.bytes);
            return;
        case Kind::input:
            if (Input input; decode(reader, input)) ranks_->input(std::move(input.bytes));
            return;
        case Kind::end:
            if (End end; decode(reader, end)) end_ranks(end.signal, milliseconds(end.grace));
            return;
        case Kind::signal:
            if (Signal signal; decode(reader, signal)) ranks_->forward(signal);
            return;
        case Kind::inspect:
            return root_->send(Inspected{inspect()});
        case Kind::stack_query:
            if (StackQuery query; decode(reader, query)) read_stack(query.rank);
            return;
        case Kind::bye:
            return loop_.stop();
        default:
            return on_pmix_message(kind, reader);
    }
}

void Agent::launch(Launch job) {
    job_ = std::move(job);
    launched_ = true;
    prepare();
}

void Agent::fail(const std::string& message) {
    fail(AgentError{fmt::format("batchai-launch: {}: {}", bootstrap_.name, message), 125, false});
}

void Agent::fail(const AgentError& error) {
    root_->send(error);
    ranks_->end(SIGKILL, {});
    ranks_->started_all();
}

void Agent::end_ranks(int signal, milliseconds grace) {
    ending_ = true;
    stand_ins_.stop();
    ranks_->end(signal, grace);
    if (preparation_.pid > 0) {
        ::kill(-preparation_.pid, signal);  // on_child() comes when it has ended
    } else {
        ranks_->started_all();
    }
}

void Agent::root_lost() {
    // Nobody is left to report to: end everything, and go.
    exit_code_ = 125;
    over_ = true;
    end_ranks(SIGTERM, kGraceAfterFailure);
    if (node_done_) return loop_.stop();
    giving_up_ = std::make_unique<Timer>(loop_, [this] { loop_.stop(); });
    giving_up_->start(kGraceAfterFailure * 2);
}

// Whoever was at the other end may have died, which the root says better.
void Agent::on_branch_broken(const std::string& why) {
    giving_up_ = std::make_unique<Timer>(loop_, [this, why] {
        if (!ending_) fail(why);
    });
    giving_up_->start(kBranchGrace);
}

void Agent::on_signal(int signal) {
    if (signal == SIGCHLD) return ranks_->reap();
    if (guarded_.has_guard()) return obey(signal);
    if (launched_ && !over_) {
        root_->send(AgentError{
            fmt::format("batchai-launch: {}: the agent's guard was killed", bootstrap_.name), 125,
            false});
    }
    root_lost();
}

// Slurm signals all nodes of a step; what is passed on as it is needs nobody's decision.
void Agent::obey(int signal) {
    const auto now = std::chrono::steady_clock::now();
    if (signal == last_signal_ && now - last_signal_time_ < kSameSignal) return;
    last_signal_ = signal;
    last_signal_time_ = now;
    if (is_forwarded(signal) && signal != job_.end_on)
        return ranks_->forward({signal, {kAllRanks}});
    if (signal == SIGQUIT && bootstrap_.node != 0) return;  // one answer is enough
    root_->send(Asked{signal});
}

void Agent::on_output(int rank, Stream stream, std::string bytes) {
    const bool to_root = !own_output_.contains(rank);
    unwritten_ += bytes.size() * ((files_ ? files_->count(rank) : 0) + (to_root ? 1 : 0));
    if (unwritten_ > kHighWater) ranks_->hold_output(true);
    if (files_) files_->write(rank, stream, bytes);
    if (to_root) root_->send(Output{rank, stream, std::move(bytes)});
}

void Agent::output_taken(std::uint64_t bytes) {
    unwritten_ -= bytes;
    if (unwritten_ < kLowWater) ranks_->hold_output(false);
}

void Agent::judge(RankEnd end) {
    if (pmi1_) pmi1_->hear_out(end.rank);
    fail_modex_of(end.rank);
    if (const auto state = pmix_states_.find(end.rank); state != pmix_states_.end()) {
        end.pmix = state->second;
        if (end.pmix == RankEnd::Pmix::joined) {  // and never leaves now
            set_pmix_state(end.rank, RankEnd::Pmix::never_joined);
        }
    }
    const int local = job_.map.local_rank(end.rank);
    if (gpus_ > 0) end.gpu = local % gpus_;
    note(fmt::format("rank {} {}", end.rank, describe(end)));
    root_->send(end);
    groups_.end(end.rank);
    if (end.pmix == RankEnd::Pmix::left) {
        branch_->leave({end.rank});
        if (!ending_ && pmix_clients_.contains(end.rank)) stand_ins_.add(end.rank);
    } else if (groups_.any_needs(end.rank)) {
        root_->send(MissingRank{end.rank});
    }
    if (pmi1_) pmi1_->forget(end.rank);
    check_done();
}

void Agent::on_ranks_done() {
    ranks_done_ = true;
    stand_ins_.stop();
    check_done();
}

void Agent::check_done() {
    if (!ranks_done_ || !last_words_.empty()) return;
    if (files_) files_->finish();
    if (files_ && !files_->idle()) return;
    ranks_done_ = false;  // said once
    if (over_) return loop_.stop();
    record(job::Event::Kind::finished);
    node_done_ = true;
    root_->send(NodeDone{});
}

}  // namespace batchai::launcher

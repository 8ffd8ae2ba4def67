// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/agent.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "launcher/common/exit_code.hpp"
#include "launcher/common/say.hpp"
#include "launcher/pmix/guarded_accept.hpp"
#include "sys/tcp_owner.hpp"

namespace batchai::launcher {

using std::chrono::milliseconds;

namespace {

// How long the root gets to notice a lost agent: a little more than Channel takes.
constexpr std::chrono::milliseconds kBranchGrace{12'000};

// If Slurm signals both the guard and the agent, the agent gets the signal twice.
constexpr milliseconds kSameSignal{100};

}  // namespace

Agent::Agent(Bootstrap bootstrap, Guarded guarded)
    : bootstrap_(std::move(bootstrap)),
      guarded_(std::move(guarded)),
      environment_(env::current()),
      output_(loop_, {[this](const Output& output) { root_->send(output); },
                      [this](const Sink::Failure& failure) {
                          root_->send(misplaced_by(failure, bootstrap_.name));
                      },
                      [this](bool hold) { ranks_->hold_output(hold); }, [this] { check_done(); }}),
      last_words_(loop_, {pmix::unheard_connections, [this] { pmix_->hear(); },
                          [this](RankEnd end) { judge(std::move(end)); }}) {}

int Agent::run() {
    auto key = TlsKey::make(bootstrap_.key);
    if (!key) {
        say(bootstrap_.name + ": " + key.error().message);
        return kOwnFailure;
    }
    key_ = std::move(*key);
    auto link = connect_to(bootstrap_.endpoints, *key_);
    if (!link) {
        say(
            fmt::format("{}: cannot reach batchai-launch: {}. With --interface, name a network "
                        "that all nodes reach.",
                        bootstrap_.name, link.error().message));
        return kOwnFailure;
    }
    interface_ = interface_of(link->socket.get());
    const auto told = sys::tcp_owner(link->socket.get(), sys::End::own);
    signals_ = std::make_unique<SignalEvents>(loop_, handled_signals(),
                                              [this](int signal) { on_signal(signal); });
    ranks_ = std::make_unique<Ranks>(
        loop_, Ranks::Callbacks{[this](int rank, Stream stream, std::string bytes) {
                                    output_.write(rank, stream, std::move(bytes));
                                },
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
                          [this](FenceDone done) {
                              if (done.id.purpose == kPmi1) return pmi1_->on_fence_done(done);
                              pmix_->on_fence_done(std::move(done));
                          },
                          [this](const std::string& why) { on_branch_broken(why); }});
    pmix_ = std::make_unique<PmixHost>(
        loop_, PmixHost::Node{bootstrap_, environment_, job_, *root_, *branch_, *ranks_,
                              [this](const AgentError& error) { fail(error); }});
    watch_ = std::make_unique<RankWatch>(loop_, guarded_.memory(),
                                         RankWatch::Node{environment_, *ranks_, *pmix_, *root_});
    say_hello();
    // Without tcp_owner() the PMIx and Gloo servers would refuse the ranks.
    if (!told) {
        fail(told.error().in("cannot tell which user holds a TCP connection").message +
             ". Load the kernel module tcp_diag");
    }
    loop_.run();
    guarded_.remove(exit_code_ == 0);  // the guard removes them too, unless it was killed
    return exit_code_;
}

void Agent::on_message(Kind kind, Reader& reader) {
    if (Launch job; kind == Kind::launch && decode(reader, job)) return launch(std::move(job));
    switch (kind) {
        case Kind::go:
            if (decode(reader, go_)) start_ranks();
            return;
        case Kind::output_taken:
            if (OutputTaken taken; decode(reader, taken)) output_.taken(taken.bytes);
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
            return root_->send(Inspected{watch_->inspect()});
        case Kind::stack_query:
            if (StackQuery query; decode(reader, query)) watch_->read_stack(query.rank);
            return;
        case Kind::bye:
            return loop_.stop();
        case Kind::gloo_reply:
            if (GlooReply reply; decode(reader, reply) && rendezvous_) {
                rendezvous_->answer(reply.id, std::move(reply.text));
            }
            return;
        default:
            pmix_->receive(kind, reader);
    }
}

void Agent::launch(Launch job) {
    job_ = std::move(job);
    if (stage_ == Stage::greeting) stage_ = Stage::launched;
    prepare();
}

void Agent::fail(const std::string& message) {
    fail(AgentError{fmt::format("batchai-launch: {}: {}", bootstrap_.name, message), kOwnFailure,
                    false});
}

void Agent::fail(const AgentError& error) {
    root_->send(error);
    ranks_->end(SIGKILL, {});
    ranks_->started_all();
}

void Agent::end_ranks(int signal, milliseconds grace) {
    if (ending_ == Ending::no) ending_ = Ending::asked;
    pmix_->stop_stand_ins();
    ranks_->end(signal, grace);
    if (preparation_.runs()) {
        preparation_.signal(signal);  // on_child() is called when it has ended
    } else {
        ranks_->started_all();
    }
}

void Agent::root_lost() {
    exit_code_ = kOwnFailure;
    ending_ = Ending::root_lost;
    end_ranks(SIGTERM, kGraceAfterFailure);
    if (stage_ == Stage::reported) return loop_.stop();
    giving_up_ = std::make_unique<Timer>(loop_, [this] { loop_.stop(); });
    giving_up_->start(kGraceAfterFailure * 2);
}

// The agent at the other end may have died. The root then reports a better cause.
void Agent::on_branch_broken(const std::string& why) {
    giving_up_ = std::make_unique<Timer>(loop_, [this, why] {
        if (ending_ == Ending::no) fail(why);
    });
    giving_up_->start(kBranchGrace);
}

void Agent::on_signal(int signal) {
    if (signal == SIGCHLD) return ranks_->reap();
    if (guarded_.has_guard()) return obey(signal);
    if (stage_ != Stage::greeting && ending_ != Ending::root_lost) {
        root_->send(AgentError{
            fmt::format("batchai-launch: {}: the agent's guard was killed", bootstrap_.name),
            kOwnFailure, false});
    }
    root_lost();
}

// Slurm signals all nodes of a step. The root takes no part in a signal that is passed on
// unchanged.
void Agent::obey(int signal) {
    const auto now = std::chrono::steady_clock::now();
    if (signal == last_signal_ && now - last_signal_time_ < kSameSignal) return;
    last_signal_ = signal;
    last_signal_time_ = now;
    if (is_forwarded(signal) && signal != job_.settings.end_on)
        return ranks_->forward({signal, {kAllRanks}});
    if (signal == SIGQUIT && bootstrap_.node != 0) return;  // node 0 alone reports it
    root_->send(Asked{signal});
}

void Agent::judge(RankEnd end) {
    if (pmi1_) pmi1_->hear_out(end.rank);
    pmix_->judge(end);
    const int local = job_.map.local_rank(end.rank);
    if (gpus_ > 0) end.gpu = local % gpus_;
    note(fmt::format("rank {} {}", end.rank, describe(end)));
    root_->send(end);
    pmix_->release_waiting_for(end, ending_ != Ending::no);
    if (pmi1_) pmi1_->forget(end.rank);
    check_done();
}

void Agent::on_ranks_done() {
    stage_ = Stage::ranks_done;
    pmix_->stop_stand_ins();
    check_done();
}

void Agent::check_done() {
    if (stage_ != Stage::ranks_done || !last_words_.empty()) return;
    output_.finish();
    if (!output_.idle()) return;
    stage_ = Stage::reported;
    if (ending_ == Ending::root_lost) return loop_.stop();
    record(job::Event::Kind::finished);
    root_->send(NodeDone{});
}

}  // namespace batchai::launcher

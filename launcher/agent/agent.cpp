// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/agent.hpp"

#include <fmt/format.h>

#include "launcher/common/exit_code.hpp"

namespace batchai::launcher {

using std::chrono::milliseconds;

namespace {

// How long the root gets to notice a lost agent: a little more than Channel takes.
constexpr milliseconds kBranchGrace{12'000};

}  // namespace

Agent::Agent(Bootstrap bootstrap, Guarded guarded, TlsKey key, Link link)
    : bootstrap_(std::move(bootstrap)),
      guarded_(std::move(guarded)),
      job_(bootstrap_, interface_of(link.socket.get()), guarded_.memory()),
      root_(loop_, std::move(link),
            {[this](Kind kind, Reader& reader) { on_message(kind, reader); },
             [this] { root_lost(); }}),
      ranks_(loop_, root_, bootstrap_.name, *this),
      branch_(loop_, bootstrap_, std::move(key), root_, *this),
      pmix_(loop_, {bootstrap_, job_, root_, branch_, ranks_, *this}),
      watch_(loop_, guarded_.memory(), {job_.environment(), ranks_, pmix_, root_}),
      signals_(loop_, handled_signals(),
               [this](int signal, pid_t sender) { on_signal(signal, sender); }) {}

int Agent::run(const std::string& trouble) {
    say_hello();
    if (!trouble.empty()) fail(trouble);
    loop_.run();
    const int code = ending_ == Ending::root_lost ? kOwnFailure : 0;
    guarded_.remove(code == 0);  // the guard removes them too, unless it was killed
    return code;
}

void Agent::on_message(Kind kind, Reader& reader) {
    switch (kind) {
        case Kind::launch: {
            Launch job;
            if (!decode(reader, job)) return;
            job_.take(std::move(job));
            if (stage_ == Stage::greeting) stage_ = Stage::launched;
            return prepare();
        }
        case Kind::go:
            if (Go go; decode(reader, go)) start_ranks(std::move(go));
            return;
        case Kind::new_job:
            if (NewJob order; decode(reader, order)) on_new_job(std::move(order.job));
            return;
        case Kind::job_start:
            if (JobStart order; decode(reader, order)) on_job_start(order.start);
            return;
        case Kind::output_taken:
            if (OutputTaken taken; decode(reader, taken)) ranks_.output().taken(taken.bytes);
            return;
        case Kind::input:
            if (Input input; decode(reader, input)) ranks_.input(std::move(input.bytes));
            return;
        case Kind::end:
            if (End end; decode(reader, end)) end_ranks(end.signal, milliseconds(end.grace));
            return;
        case Kind::signal:
            if (Signal signal; decode(reader, signal)) {
                // A rank may ask for a signal to others, which is no copy of the job's.
                const bool for_all = signal.ranks == RankSet::all();
                if (for_all && guarded_.is_second_copy(signal.signal, Guarded::kFromRoot)) return;
                ranks_.forward(signal);
            }
            return;
        case Kind::inspect:
            return watch_.inspect();
        case Kind::sample:
            return watch_.sample();
        case Kind::stack_query:
            if (StackQuery query; decode(reader, query)) watch_.read_stack(query.rank);
            return;
        case Kind::bye:
            return loop_.stop();
        case Kind::gloo_reply:
            if (GlooReply reply; decode(reader, reply) && rendezvous_) {
                rendezvous_->answer(reply.id, std::move(reply.text));
            }
            return;
        default:
            pmix_.receive(kind, reader);
    }
}

void Agent::fail(const std::string& message) {
    fail(AgentError{fmt::format("batchai-launch: {}: {}", bootstrap_.name, message), kOwnFailure,
                    false});
}

void Agent::fail(const AgentError& error) {
    root_.send(error);
    ranks_.end(SIGKILL, {});
    ranks_.started_all();
}

void Agent::end_ranks(int signal, milliseconds grace) {
    if (ending_ == Ending::no) ending_ = Ending::asked;
    pmix_.stop_stand_ins();
    ranks_.end(signal, grace);
    if (preparation_.runs()) {
        preparation_.signal(signal);  // child_ended() is called when it has ended
    } else {
        ranks_.started_all();
    }
}

void Agent::root_lost() {
    ending_ = Ending::root_lost;
    end_ranks(SIGTERM, kGraceAfterFailure);
    if (stage_ == Stage::reported) return loop_.stop();
    giving_up_ = std::make_unique<Timer>(loop_, [this] { loop_.stop(); });
    giving_up_->start(kGraceAfterFailure * 2);
}

// The agent at the other end may have died. The root then reports a better cause.
void Agent::branch_broken(const std::string& why) {
    giving_up_ = std::make_unique<Timer>(loop_, [this, why] {
        if (ending_ == Ending::no) fail(why);
    });
    giving_up_->start(kBranchGrace);
}

// Slurm signals all nodes of a step. The root takes no part in a signal that is passed on
// unchanged.
void Agent::on_signal(int signal, pid_t sender) {
    if (signal == SIGCHLD) return ranks_.reap();
    if (!guarded_.has_guard()) {
        if (stage_ != Stage::greeting && ending_ != Ending::root_lost) {
            root_.send(AgentError{
                fmt::format("batchai-launch: {}: the agent's guard was killed", bootstrap_.name),
                kOwnFailure, false, true});
        }
        // Slurm may have killed the guard, and then counts the step as over.
        ranks_.end(SIGKILL, {});
        return root_lost();
    }
    if (guarded_.is_second_copy(signal, sender)) return;
    if (is_forwarded(signal) && signal != job_.launch().settings.end_on) {
        if (!guarded_.is_for_all(sender)) ranks_.forward({signal, RankSet::all()});
        return;
    }
    if (signal == SIGQUIT && bootstrap_.node != 0) return;  // node 0 alone reports it
    root_.send(Asked{signal});
}

void Agent::rank_judged(RankEnd end) {
    end.gpu = job_.gpu_of(end.rank);
    job_.note(fmt::format("rank {} {}", job_.jobs().map().name(end.rank), describe(end)));
    root_.send(end);
    pmix_.release_waiting_for(end, ending_ != Ending::no);
    watch_.forget(end.rank);
    check_done();
}

void Agent::ranks_done() {
    stage_ = Stage::ranks_done;
    pmix_.stop_stand_ins();
    check_done();
}

void Agent::check_done() {
    if (stage_ != Stage::ranks_done || !pmix_.all_judged()) return;
    ranks_.output().finish();
    if (!ranks_.output().idle()) return;
    stage_ = Stage::reported;
    if (ending_ == Ending::root_lost) return loop_.stop();
    job_.record(job::Event::Kind::finished);
    root_.send(NodeDone{jobs_started_});
}

}  // namespace batchai::launcher

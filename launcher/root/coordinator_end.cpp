// SPDX-License-Identifier: Apache-2.0
//
// Coordinator, last part: from a failure, a signal or the last rank's end until nothing of the job
// is left.
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <utility>

#include "launcher/common/say.hpp"
#include "launcher/root/coordinator.hpp"
#include "sys/clock.hpp"
#include "sys/subprocess.hpp"

namespace batchai::launcher {
namespace {

// From the SIGKILL to the ranks until the root stops waiting.
constexpr std::chrono::milliseconds kEndDeadline{3000};
// How long a reader of the output may read nothing. Slurm kills a job 30 s after it asked the job
// to end (KillWait), and the reason must be printed before.
constexpr std::chrono::milliseconds kReaderDeadline{60'000}, kReaderDeadlineWhenAsked{5'000};
constexpr std::chrono::milliseconds kByeDeadline{5000};
// From the message that stops the ranks until the root stops itself: the message is sent.
constexpr std::chrono::milliseconds kPause{100};

}  // namespace

void Coordinator::fail(const std::string& line, int code, Cause cause,
                       std::optional<double> since) {
    outcome_.add({since.value_or(sys::wall_clock()), "batchai-launch: " + line, code, cause});
    end_job();
}

void Coordinator::end_job(int signal, std::chrono::milliseconds grace) {
    if (state_ == State::starting) return say_bye();
    if (state_ != State::running) return;
    state_ = State::ending;
    show_progress();
    timeout_.stop();
    doubt_.stop();
    input_.stop();
    inspection_.stop();
    if (asking_ != Asking::no) bytes_written_ = out_->bytes_written() + err_->bytes_written();
    to_all(End{signal, static_cast<int>(grace.count())});
    deadline_.start(grace + kEndDeadline);
    check_over();
}

void Coordinator::check_over() {
    if (state_ != State::running && state_ != State::ending) return;
    if (!all_done()) return;
    printer_out_->flush();
    printer_err_->flush();
    out_->finish();
    err_->finish();
    if (written()) say_bye();
}

bool Coordinator::all_done() const {
    return std::all_of(agents_.begin(), agents_.end(), [](const Agent& a) { return a.done; });
}

// Whether all ranks have ended and agents still write their output.
bool Coordinator::only_files_are_open() const {
    return !all_done() && map_.size() > 0 &&
           outcome_.ended() == static_cast<std::size_t>(map_.size());
}

// When no rank runs any more, a slow reader still gets all of their output.
void Coordinator::on_deadline() {
    if (state_ == State::over) return loop_.stop();
    const std::uint64_t bytes = out_->bytes_written() + err_->bytes_written();
    const bool moves = std::exchange(bytes_written_, bytes) != bytes;
    const auto patience = asking_ == Asking::no ? kReaderDeadline : kReaderDeadlineWhenAsked;
    if (moves && all_done() && asking_ != Asking::end_now) return deadline_.start(patience);
    if (only_files_are_open() && asking_ != Asking::end_now) {
        // Only once: the root does not know how much the agents have written.
        if (!std::exchange(agents_had_time_, true)) return deadline_.start(patience);
        for (std::size_t node = 0; node < agents_.size(); ++node) {
            if (agents_[node].done) continue;
            on_misplaced(
                {fmt::format("node {}: the agent did not finish writing its ranks' files: the rest "
                             "of their output is lost",
                             session_.allocation.nodes[node])});
        }
    }
    say_bye();
}

void Coordinator::say_bye() {
    if (state_ == State::over) return;
    state_ = State::over;
    show_progress();
    input_.stop();
    stall_.stop();
    timeout_.stop();
    deadline_.start(kByeDeadline);
    to_all(Bye{});
    close_door();  // an agent without Hello cannot connect, and cleans up
    // On SIGINT, srun stops waiting for the step. It leaves a step that runs alone. On SIGTERM,
    // srun would kill the agents and their guards before they have cleaned up.
    if (greeted_ < agents_.size()) {
        for (const Starter& starter : starters_) {
            if (starter.pid > 0) ::kill(starter.pid, SIGINT);
        }
    }
    check_gone();
}

// The agents clean up before they exit. srun waits for them, but srun may have been killed. When
// this process exits, Slurm kills the remaining processes of the job.
void Coordinator::check_gone() {
    const bool no_starter =
        std::all_of(starters_.begin(), starters_.end(), [](const Starter& s) { return s.pid < 0; });
    const bool no_agent = std::all_of(agents_.begin(), agents_.end(), [](const Agent& a) {
        return a.peer == nullptr || a.peer->channel->closed();
    });
    if (state_ == State::over && no_starter && no_agent) loop_.stop();
}

void Coordinator::on_child() {
    int status = 0;
    for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
        const auto found = std::find_if(starters_.begin(), starters_.end(),
                                        [pid](const Starter& s) { return s.pid == pid; });
        if (found == starters_.end()) continue;
        found->pid = -1;
        starter_words_.catch_up();  // it may explain the failure
        srun_ended_ = srun_ended_ || (greeted_ > 0 && state_ != State::over);
        if (state_ == State::running && !session_.allocation.local) {
            fail("srun has ended before the job", kOwnFailure, Cause::node);
        } else if (state_ == State::starting) {
            srun_matters_ = true;
            fail(fmt::format("{} ended with code {} before all agents were there", found->name,
                             sys::exit_code_of(status)));
        }
    }
    check_gone();
}

void Coordinator::on_signal(int signal) {
    if (signal == SIGCHLD) return on_child();
    if (signal == SIGQUIT) return inspect();
    if (signal == SIGTSTP) {
        if (state_ == State::running) to_all(Signal{SIGSTOP, {kAllRanks}});
        return pause_.start(kPause);
    }
    if (signal == SIGCONT) pause_.stop();
    if (!ends_job(signal)) {
        if (state_ == State::running) to_all(Signal{signal, {kAllRanks}});
        return;
    }
    // A second signal means "at once", but only if this process received both: Slurm may send one
    // signal to root and agents alike.
    ++own_signals_;
    if (state_ == State::ending && (own_signals_ > 1 || asking_ == Asking::no)) return kill_now();
    on_asked(signal);
}

// Stops this process by the signal's own action, which the kernel leaves out where no shell could
// continue it: as a container's first process, or as a terminal's only one.
void Coordinator::pause() {
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    std::raise(SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &stop, nullptr);
    sigprocmask(SIG_BLOCK, &stop, nullptr);
    if (state_ == State::running) to_all(Signal{SIGCONT, {kAllRanks}});
}

bool Coordinator::ends_job(int signal) const {
    return signal == SIGTERM || signal == SIGINT || signal == SIGHUP ||
           (signal != 0 && signal == session_.settings.end_on);
}

// The signal comes from the user, or from Slurm through an agent. Slurm may have signalled ranks
// first, so what they did in the last second is a consequence.
void Coordinator::on_asked(int signal) {
    if (signal == SIGQUIT) return inspect();
    if (!ends_job(signal) || asking_ != Asking::no || state_ == State::over) return;
    asking_ = Asking::end;
    const std::string name = signal_name(signal);
    outcome_.add({sys::wall_clock() - kConsequence.count(),
                  "batchai-launch: asked to end by " + name, kSignalled + signal, Cause::signal});
    const bool waits = state_ == State::running && session_.settings.grace >= 1;
    end_job(signal == SIGHUP ? SIGTERM : signal,
            std::chrono::milliseconds(static_cast<long>(session_.settings.grace * 1000)));
    if (waits) say(fmt::format("{}: the ranks have {:g} s to end", name, session_.settings.grace));
}

void Coordinator::kill_now() {
    asking_ = Asking::end_now;
    to_all(End{SIGKILL, 0});
    deadline_.start(kEndDeadline);
}

}  // namespace batchai::launcher

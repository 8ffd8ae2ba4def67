// SPDX-License-Identifier: Apache-2.0
//
// Coordinator, last part of a job's life: a failure, a signal or the last rank's end, until nothing
// is left of it.
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <utility>

#include "launcher/common/say.hpp"
#include "launcher/root/coordinator.hpp"
#include "sys/clock.hpp"

namespace batchai::launcher {
namespace {

// From the SIGKILL of the ranks until the root no longer waits.
constexpr std::chrono::milliseconds kEndDeadline{3000};
// For how long a reader of the output may read nothing. A job that was asked to end is killed by
// Slurm 30 s later (KillWait), and has to say why before.
constexpr std::chrono::milliseconds kReaderDeadline{60'000}, kReaderDeadlineWhenAsked{5'000};
constexpr std::chrono::milliseconds kByeDeadline{5000};

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
    if (asked_) bytes_written_ = out_->bytes_written() + err_->bytes_written();
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

// All ranks have ended, and agents still write the ranks' output.
bool Coordinator::only_files_are_open() const {
    return !all_done() && map_.size() > 0 &&
           outcome_.ended() == static_cast<std::size_t>(map_.size());
}

// Once no rank runs any more, a slow reader gets all that they have written.
void Coordinator::on_deadline() {
    if (state_ == State::over) return loop_.stop();
    const std::uint64_t bytes = out_->bytes_written() + err_->bytes_written();
    const bool moves = std::exchange(bytes_written_, bytes) != bytes;
    if (moves && all_done() && !hurried_) {
        return deadline_.start(asked_ ? kReaderDeadlineWhenAsked : kReaderDeadline);
    }
    if (only_files_are_open() && !hurried_) {
        // Once: how much agents have written is not known here.
        if (!std::exchange(agents_had_time_, true)) {
            return deadline_.start(asked_ ? kReaderDeadlineWhenAsked : kReaderDeadline);
        }
        for (std::size_t node = 0; node < agents_.size(); ++node) {
            if (agents_[node].done) continue;
            on_misplaced(
                {fmt::format("node {}: the agent did not finish writing its ranks' files: the rest "
                             "of their output is lost",
                             session_.allocation.nodes[node]),
                 {}});
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
    close_door();  // agents that have not greeted yet cannot connect, and clean up
    // On SIGINT, srun stops waiting for the step, and leaves one that runs alone. On SIGTERM it
    // would kill the agents and their guards, which then could not clean up.
    if (greeted_ < agents_.size()) {
        for (const Starter& starter : starters_) {
            if (starter.pid > 0) ::kill(starter.pid, SIGINT);
        }
    }
    check_gone();
}

// The agents clean up before they exit. srun waits for them, but may have been killed. Once we have
// exited, Slurm kills the remaining processes of the job.
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
        starter_words_.catch_up();  // it may say why
        srun_ended_ = srun_ended_ || (greeted_ > 0 && state_ != State::over);
        if (state_ == State::running && !session_.allocation.local) {
            fail("srun has ended before the job", 125, Cause::node);
        } else if (state_ == State::starting) {
            srun_matters_ = true;
            const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            fail(fmt::format("{} ended with code {} before all agents were there", found->name,
                             code));
        }
    }
    check_gone();
}

void Coordinator::on_signal(int signal) {
    if (signal == SIGCHLD) return on_child();
    if (signal == SIGQUIT) return inspect();
    if (!ends_job(signal)) {
        if (state_ == State::running) to_all(Signal{signal, {kAllRanks}});
        return;
    }
    // The user insists; but Slurm may have signalled root and agents alike.
    ++own_signals_;
    if (state_ == State::ending && (own_signals_ > 1 || !asked_)) return kill_now();
    on_asked(signal);
}

bool Coordinator::ends_job(int signal) const {
    return signal == SIGTERM || signal == SIGINT || signal == SIGHUP ||
           (signal != 0 && signal == session_.end_on);
}

// By the user, or by Slurm through an agent.
void Coordinator::on_asked(int signal) {
    if (signal == SIGQUIT) return inspect();
    if (!ends_job(signal) || asked_ || state_ == State::ending || state_ == State::over) return;
    asked_ = true;
    const std::string name = signal_name(signal);
    const double now = sys::wall_clock();
    outcome_.excuse(signal, now - 1);
    outcome_.add({now, "batchai-launch: asked to end by " + name, 128 + signal, Cause::signal});
    const bool waits = state_ == State::running && session_.grace >= 1;
    end_job(signal == SIGHUP ? SIGTERM : signal,
            std::chrono::milliseconds(static_cast<long>(session_.grace * 1000)));
    if (waits) say(fmt::format("{}: the ranks have {:g} s to end", name, session_.grace));
}

void Coordinator::kill_now() {
    hurried_ = true;
    to_all(End{SIGKILL, 0});
    deadline_.start(kEndDeadline);
}

}  // namespace batchai::launcher

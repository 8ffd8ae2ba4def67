// SPDX-License-Identifier: Apache-2.0
//
// Coordinator, last part of a job's life: a failure, a signal or the last rank's end, until nothing
// is left of it.
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>

#include "launcher/agent/ranks.hpp"
#include "launcher/coordinator.hpp"

namespace batchai::launcher {
namespace {

// From the order to end until the root gives up waiting: the agents' grace and some more.
constexpr std::chrono::milliseconds kEndDeadline{5000};
constexpr std::chrono::milliseconds kByeDeadline{5000};

}  // namespace

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

void Coordinator::check_over() {
    if (state_ != State::running && state_ != State::ending) return;
    const bool done =
        std::all_of(agents_.begin(), agents_.end(), [](const Agent& a) { return a.done; });
    if (!done) return;
    printer_out_->flush();
    printer_err_->flush();
    if (out_->idle() && err_->idle()) say_bye();
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
    if (signal == SIGQUIT) return inspect();
    if (std::find(kForwarded.begin(), kForwarded.end(), signal) != kForwarded.end()) {
        if (state_ == State::running) to_all(Signal{signal});
        return;
    }
    if (state_ == State::ending) return to_all(End{SIGKILL});  // the user insists
    outcome_.add(wall_clock(), fmt::format("batchai-launch: ended by {}", signal_name(signal)),
                 128 + signal);
    end_job(signal == SIGHUP ? SIGTERM : signal);
}

}  // namespace batchai::launcher

// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/ending.hpp"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "launcher/common/processes.hpp"
#include "launcher/common/say.hpp"
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
// Until a death by SIGTERM counts as a failure of its own.
constexpr std::chrono::milliseconds kDoubt{500};

}  // namespace

// Ctrl-Z stops the ranks too. Agents and guards are in no terminal's process group.
Signals root_signals() {
    Signals signals = handled_signals();
    signals.push_back(SIGTSTP);
    return signals;
}

Ending::Ending(Loop& loop, const LaunchSettings& settings, Of of)
    : loop_(loop),
      settings_(settings),
      of_(of),
      timeout_(
          loop,
          [this] {
              of_.inspection.ask([this] {
                  fail(fmt::format("time-out: the job was ended after {} s", *settings_.timeout),
                       kTimedOut);
              });
          }),
      deadline_(loop, [this] { on_deadline(); }),
      doubt_(loop, [this] { end_job(); }),
      pause_(loop, [this] { pause(); }) {}

void Ending::start_timeout(double left) {
    timeout_.start(std::chrono::milliseconds(static_cast<long>(left * 1000)));
}

std::optional<double> Ending::timeout_left() const {
    if (!settings_.timeout) return std::nullopt;
    return std::chrono::duration<double>(timeout_.left()).count();
}

void Ending::watch_script() {
    // A step of the user's may end before a launch that it has started: the job goes on.
    constexpr std::uint32_t kLeastSpecialStep = 0xfffffff0;  // of scripts and interactive shells
    const char* step = std::getenv("SLURM_STEP_ID");
    if (step != nullptr && std::strtoul(step, nullptr, 10) < kLeastSpecialStep) return;
    const char* task = std::getenv("SLURM_TASK_PID");  // of a batch script, or of a step's program
    const pid_t script = task == nullptr ? 0 : std::atoi(task);
    if (script <= 1 || !is_below(::getppid(), script)) return;
    sys::UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, script, 0)));
    if (!process) return;
    script_ = std::make_unique<Poll>(loop_, std::move(process), [this](int) {
        script_->stop();
        ask(kScriptEnded, {0, kScriptEnded, kOwnFailure, Cause::other}, SIGTERM);
    });
}

void Ending::begin() {
    state_ = State::running;
    of_.inspection.begin();
}

void Ending::fail(const std::string& line, int code, Cause cause, std::optional<double> since) {
    of_.outcome.add({since.value_or(sys::wall_clock()), "batchai-launch: " + line, code, cause});
    end_job();
}

void Ending::end_job(int signal, std::chrono::milliseconds grace) {
    if (state_ == State::starting) return say_bye();
    if (state_ != State::running) return;
    state_ = State::ending;
    of_.nodes.stop_progress();
    timeout_.stop();
    doubt_.stop();
    of_.input.stop();
    of_.inspection.job_ends();
    if (asking_ != Asking::no) bytes_written_ = of_.output.bytes_written();
    of_.nodes.send_all(End{signal, static_cast<int>(grace.count())});
    deadline_.start(grace + kEndDeadline);
    check_over();
}

void Ending::check_over() {
    if (state_ != State::running && state_ != State::ending) return;
    if (!of_.nodes.all_done()) return;
    of_.output.finish();
    if (of_.output.written()) say_bye();
}

void Ending::on_rank_failed(int signal) {
    if (ends_job(signal)) return end_after(kDoubt);
    if (!doubt_.active()) end_job();  // else it may have failed because of others' end
}

void Ending::end_after(std::chrono::milliseconds moment) {
    if (!running()) return end_job();
    if (!doubt_.active()) doubt_.start(moment);
}

// Whether all ranks have ended and agents still write their output.
bool Ending::only_files_are_open() const {
    return !of_.nodes.all_done() && of_.map.size() > 0 &&
           of_.outcome.ended() == static_cast<std::size_t>(of_.map.size());
}

// When no rank runs any more, a slow reader still gets all of their output.
void Ending::on_deadline() {
    if (state_ == State::over) return loop_.stop();
    const std::uint64_t bytes = of_.output.bytes_written();
    const bool moves = std::exchange(bytes_written_, bytes) != bytes;
    const auto patience = asking_ == Asking::no ? kReaderDeadline : kReaderDeadlineWhenAsked;
    if (moves && of_.nodes.all_done() && asking_ != Asking::end_now)
        return deadline_.start(patience);
    if (only_files_are_open() && asking_ != Asking::end_now) {
        // Only once: the root does not know how much the agents have written.
        if (!std::exchange(agents_had_time_, true)) return deadline_.start(patience);
        for (const Node& node : of_.nodes) {
            if (node.done) continue;
            of_.output.misplace(
                {fmt::format("node {}: the agent did not finish writing its ranks' files: the rest "
                             "of their output is lost",
                             node.name)});
        }
    }
    say_bye();
}

void Ending::say_bye() {
    if (state_ == State::over) return;
    state_ = State::over;
    of_.nodes.stop_progress();
    of_.input.stop();
    of_.inspection.stop();
    timeout_.stop();
    deadline_.start(kByeDeadline);
    of_.nodes.send_all(Bye{});
    of_.nodes.close_door();  // an agent without Hello cannot connect, and cleans up
    // On SIGINT, srun stops waiting for the step. It leaves a step that runs alone. On SIGTERM,
    // srun would kill the agents and their guards before they have cleaned up.
    if (of_.nodes.connected() < of_.nodes.size()) of_.starters.signal(SIGINT);
    check_gone();
}

// The agents clean up before they exit. srun waits for them, but srun may have been killed. When
// this process exits, Slurm kills the remaining processes of the job.
bool Ending::check_gone() {
    if (state_ != State::over) return false;
    if (of_.starters.all_ended() && of_.nodes.all_gone()) loop_.stop();
    return true;
}

void Ending::on_child() {
    int status = 0;
    for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
        const Starter* found = of_.starters.reap(pid);
        if (found == nullptr) continue;
        const bool cancelled = status != 0 && of_.starters.cancelled_step().has_value();
        if (of_.nodes.connected() > 0 && (state_ != State::over || cancelled))
            agents_killed_ = true;
        if (running() && !of_.starters.local()) {
            fail("srun has ended before the job", kOwnFailure, Cause::node);
        } else if (starting()) {
            of_.starters.explain_failure();
            fail(fmt::format("{} ended with code {} before all agents were there", found->name,
                             sys::exit_code_of(status)));
        }
    }
    check_gone();
}

void Ending::on_signal(int signal) {
    if (signal == SIGCHLD) return on_child();
    if (signal == SIGQUIT) return of_.inspection.ask();
    if (signal == SIGTSTP) {
        if (running()) of_.nodes.send_all(Signal{SIGSTOP, RankSet::all()});
        return pause_.start(kPause);
    }
    if (signal == SIGCONT) pause_.stop();
    if (!ends_job(signal)) {
        if (running()) of_.nodes.send_all(Signal{signal, RankSet::all()});
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
void Ending::pause() {
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    std::raise(SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &stop, nullptr);
    sigprocmask(SIG_BLOCK, &stop, nullptr);
    if (running()) of_.nodes.send_all(Signal{SIGCONT, RankSet::all()});
}

bool Ending::ends_job(int signal) const {
    return signal == SIGTERM || signal == SIGINT || signal == SIGHUP ||
           (signal != 0 && signal == settings_.end_on);
}

void Ending::on_asked(int signal) {
    if (signal == SIGQUIT) return of_.inspection.ask();
    if (!ends_job(signal)) return;
    const std::string name = signal_name(signal);
    ask(name, {0, "asked to end by " + name, kSignalled + signal, Cause::signal},
        signal == SIGHUP ? SIGTERM : signal);
}

void Ending::ask(const std::string& why, Outcome::Other asker, int signal) {
    if (asking_ != Asking::no || state_ == State::over) return;
    asking_ = Asking::end;
    // At once: Slurm kills this process a moment after its script.
    if (running() && settings_.grace >= 1)
        say(fmt::format("{}: the ranks have {:g} s to end", why, settings_.grace));
    asker.time = sys::wall_clock() - kConsequence.count();
    asker.line = "batchai-launch: " + asker.line;
    of_.outcome.add(std::move(asker));
    end_job(signal, std::chrono::milliseconds(static_cast<long>(settings_.grace * 1000)));
}

void Ending::kill_now() {
    asking_ = Asking::end_now;
    of_.nodes.send_all(End{SIGKILL, 0});
    deadline_.start(kEndDeadline);
}

}  // namespace batchai::launcher

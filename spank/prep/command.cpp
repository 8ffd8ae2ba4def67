// SPDX-License-Identifier: Apache-2.0
#include "spank/prep/command.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "spank/limits.hpp"
#include "sys/file.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::spank {
namespace {

using Clock = std::chrono::steady_clock;

// The shell reads its command from descriptor 3, because every user of a node can see arguments.
// The command itself runs without the descriptor, and its messages and $0 are those of `bash -c`.
constexpr int kCommandDescriptor = 3;
// A shell whose program signal N has ended exits with 128 + N.
constexpr int kShellSignal = 128;
constexpr char kShell[] = "[ -r /proc/self/fd/3 ] && eval \"$(</proc/self/fd/3)\" 3<&-";

// Blocks the signals that we wait for, until this object is destroyed.
class Signals {
  public:
    Signals() {
        sigset_t set;
        sigemptyset(&set);
        for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) sigaddset(&set, number);
        sigprocmask(SIG_BLOCK, &set, &before_);
        fd_.reset(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    }
    ~Signals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

    const sigset_t& before() const { return before_; }

    // Returns the next signal; 0: the deadline has passed.
    int wait(Clock::time_point deadline) const {
        for (;;) {
            signalfd_siginfo info;
            if (read(fd_.get(), &info, sizeof info) == sizeof info)
                return static_cast<int>(info.ssi_signo);
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
            if (left.count() <= 0) return 0;
            pollfd event = {fd_.get(), POLLIN, 0};
            if (poll(&event, 1, static_cast<int>(std::min<long long>(left.count(), 60000))) < 0 &&
                errno != EINTR)
                return 0;
        }
    }

    // Returns the signal that asks this process to end, after signal `number` has ended the command
    // or its program; 0: none comes within a second. Slurm signals the processes of a step one
    // after the other, so this process may get its signal later.
    int told_to_end(int number) const {
        if (number != SIGTERM && number != SIGINT && number != SIGHUP) return 0;
        const auto deadline = Clock::now() + std::chrono::seconds(1);
        for (;;)
            if (const int next = wait(deadline); next != SIGCHLD) return next;
    }

  private:
    sigset_t before_ = {};
    sys::UniqueFd fd_;
};

// Does what Slurm does to a task later: sets the limits of the submission, and removes the
// variables that carry them.
void apply_limits() {
    Limit limits[kLimitCount];
    const int count = submitted_limits(environ, limits);
    for (int i = 0; i < count; ++i) {
        apply(limits[i]);
        unsetenv((std::string("SLURM_RLIMIT_") + limits[i].name).c_str());
    }
}

sys::Result<sys::UniqueFd> in_memory(const std::string& text) {
    sys::UniqueFd file(memfd_create("command", MFD_CLOEXEC));
    if (!file) return sys::errno_error("memfd_create");
    if (auto written = sys::write_all(file.get(), text); !written) return written.error();
    return file;
}

[[noreturn]] void become_shell(int command, int out, int err, const sigset_t& mask, pid_t parent) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    sigprocmask(SIG_SETMASK, &mask, nullptr);
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(null, 0);
    dup2(out, 1);
    dup2(err, 2);
    dup2(command, kCommandDescriptor);
    fcntl(kCommandDescriptor, F_SETFD, 0);  // where it has had that number before
    apply_limits();
    execl("/bin/bash", "bash", "-c", kShell, nullptr);
    _exit(127);
}

// Kills the process group, then the processes that have left it: orphans of the command become our
// children.
void kill_all(pid_t group) {
    kill(-group, SIGKILL);
    const std::string list = "/proc/self/task/" + std::to_string(getpid()) + "/children";
    const auto deadline = Clock::now() + std::chrono::seconds(5);
    for (pid_t gone = 0; gone >= 0 && Clock::now() < deadline;) {
        std::ifstream children(list);
        for (pid_t child = 0; children >> child;) kill(child, SIGKILL);
        while ((gone = waitpid(-1, nullptr, WNOHANG)) > 0) {
        }
        if (gone == 0) usleep(5000);
    }
}

}  // namespace

sys::Result<CommandEnd> run_command(const std::string& command, int out, int err, int seconds) {
    const auto text = in_memory(command);
    if (!text) return text.error();
    const Signals signals;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0) return sys::errno_error("fork");
    if (child == 0) become_shell(text->get(), out, err, signals.before(), parent);
    setpgid(child, child);

    const auto deadline = Clock::now() + std::chrono::seconds(seconds);
    for (;;) {
        const int number = signals.wait(deadline);
        if (number != SIGCHLD) {
            kill_all(child);
            return CommandEnd{
                number == 0 ? CommandEnd::Reason::timed_out : CommandEnd::Reason::interrupted,
                number};
        }
        int status = 0;
        for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
            if (ended != child) continue;
            const bool exited = WIFEXITED(status);
            const int code = exited ? WEXITSTATUS(status) : WTERMSIG(status);
            if (const int told = signals.told_to_end(exited ? code - kShellSignal : code))
                return CommandEnd{CommandEnd::Reason::interrupted, told};
            return CommandEnd{exited ? CommandEnd::Reason::exited : CommandEnd::Reason::signalled,
                              code};
        }
    }
}

}  // namespace batchai::spank

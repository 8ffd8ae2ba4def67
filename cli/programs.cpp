// SPDX-License-Identifier: Apache-2.0
#include "cli/programs.hpp"

#include <signal.h>

#include <array>
#include <iostream>

#include "sys/shell.hpp"
#include "sys/subprocess.hpp"
#include "sys/text.hpp"

namespace batchai::cli {
namespace {

void announce(const std::vector<std::string>& argv) {
    std::string line;
    for (const auto& argument : argv) line += " " + sys::shell_quoted(argument);
    std::cerr << sys::printable("batchai: runs" + line) << std::endl;
}

bool announcing = false;

constexpr std::array<int, 4> kForwarded{SIGINT, SIGTERM, SIGHUP, SIGQUIT};

// Blocks the signals to pass on while it exists; take() receives them with sigtimedwait.
class BlockedSignals {
  public:
    BlockedSignals() {
        ::sigemptyset(&set_);
        for (const int signal : kForwarded) ::sigaddset(&set_, signal);
        ::sigaddset(&set_, SIGCHLD);
        ::sigprocmask(SIG_BLOCK, &set_, &before_);
    }
    BlockedSignals(const BlockedSignals&) = delete;
    BlockedSignals& operator=(const BlockedSignals&) = delete;
    ~BlockedSignals() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

    const sigset_t& before() const { return before_; }
    // Waits for the next signal.
    siginfo_t take() const {
        siginfo_t info{};
        while (::sigwaitinfo(&set_, &info) < 0) {
        }
        return info;
    }

  private:
    sigset_t set_{};
    sigset_t before_{};
};

}  // namespace

void announce_programs() {
    announcing = true;
    sys::tell_of_runs(announce);
}

sys::Result<int> run_foreground(const std::vector<std::string>& argv) {
    if (announcing) announce(argv);
    const BlockedSignals signals;
    sys::Program program{argv};
    program.death_signal = SIGTERM;
    program.mask = &signals.before();
    auto child = sys::Subprocess::start(program);
    if (!child) return child.error();
    for (;;) {
        const siginfo_t info = signals.take();
        const pid_t pid = child->pid();
        if (const auto code = child->test()) return *code;
        // If a terminal sent the signal (SI_KERNEL), the child has received it too.
        if (info.si_signo != SIGCHLD && info.si_code != SI_KERNEL) ::kill(pid, info.si_signo);
    }
}

}  // namespace batchai::cli

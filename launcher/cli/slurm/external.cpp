// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/slurm/external.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iostream>
#include <sstream>

#include "sys/file.hpp"
#include "sys/pipe.hpp"
#include "sys/subprocess.hpp"
#include "sys/text.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::cli {
namespace {

bool announcing = false;

void announce(const std::vector<std::string>& argv) {
    if (!announcing) return;
    std::string line;
    for (const auto& argument : argv) line += " " + shell_quoted(argument);
    std::cerr << sys::printable("batchai: runs" + line) << std::endl;
}

// The input as a file in memory: the child may leave it unread, and neither process waits.
sys::Result<sys::UniqueFd> input_file(const std::string& input) {
    sys::UniqueFd file(::memfd_create("input", MFD_CLOEXEC));
    if (!file) return sys::errno_error("memfd_create");
    if (auto done = sys::write_all(file.get(), input); !done) return done.error().in("memfd");
    if (::lseek(file.get(), 0, SEEK_SET) != 0) return sys::errno_error("memfd seek");
    return file;
}

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
}

sys::Result<int> run_foreground(const std::vector<std::string>& argv) {
    announce(argv);
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

sys::Result<Finished> run_program(const std::vector<std::string>& argv, const std::string& input,
                                  const std::optional<std::vector<std::string>>& environment) {
    announce(argv);
    const auto in = input_file(input);
    if (!in) return in.error();
    auto out = sys::make_pipe();
    if (!out) return out.error();
    auto err = sys::make_pipe();
    if (!err) return err.error();
    sys::Program program{argv, environment};
    program.death_signal = SIGTERM;
    program.in = in->get();
    program.out = out->write.get();
    program.err = err->write.get();
    auto child = sys::Subprocess::start(program);
    if (!child) return child.error();
    out->write.reset();
    err->write.reset();
    auto texts = sys::read_until({out->read.get(), err->read.get()});
    return Finished{child->wait(), std::move(texts[0]), std::move(texts[1])};
}

std::string first_line(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        if (line.find_first_not_of(" \t") != std::string::npos) return line;
    return {};
}

}  // namespace batchai::cli

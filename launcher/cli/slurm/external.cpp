// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/slurm/external.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <sstream>

#include "sys/pipe.hpp"
#include "sys/text.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::cli {
namespace {

constexpr int kNotStarted = 127;

bool announcing = false;

void announce(const std::vector<std::string>& argv) {
    if (!announcing) return;
    std::string line;
    for (const auto& argument : argv) line += " " + shell_quoted(argument);
    std::cerr << sys::printable("batchai: runs" + line) << std::endl;
}

// A file in memory that holds the input: a child may read it or not, nobody waits for anybody.
sys::Result<sys::UniqueFd> input_file(const std::string& input) {
    sys::UniqueFd file(::memfd_create("input", MFD_CLOEXEC));
    if (!file) return sys::errno_error("memfd_create");
    std::size_t done = 0;
    while (done < input.size()) {
        const ssize_t n = ::write(file.get(), input.data() + done, input.size() - done);
        if (n < 0) return sys::errno_error("memfd write");
        done += static_cast<std::size_t>(n);
    }
    if (::lseek(file.get(), 0, SEEK_SET) != 0) return sys::errno_error("memfd seek");
    return file;
}

class SpawnActions {
  public:
    SpawnActions() { posix_spawn_file_actions_init(&actions_); }
    SpawnActions(const SpawnActions&) = delete;
    SpawnActions& operator=(const SpawnActions&) = delete;
    ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
    void connect(const sys::UniqueFd& file, int as) {
        posix_spawn_file_actions_adddup2(&actions_, file.get(), as);
    }
    posix_spawn_file_actions_t* get() { return &actions_; }

  private:
    posix_spawn_file_actions_t actions_;
};

std::vector<char*> exec_arguments(const std::vector<std::string>& argv) {
    std::vector<char*> arguments;
    for (const auto& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    return arguments;
}

sys::Result<pid_t> spawn(const std::vector<std::string>& argv, SpawnActions& actions) {
    pid_t pid = 0;
    const int code = ::posix_spawnp(&pid, argv[0].c_str(), actions.get(), nullptr,
                                    exec_arguments(argv).data(), environ);
    if (code != 0) return sys::errno_error(argv[0], code);
    return pid;
}

// Reads both ends until the child has closed them.
void drain(const sys::UniqueFd& out, const sys::UniqueFd& err, Finished& finished) {
    std::array<pollfd, 2> fds{{{out.get(), POLLIN, 0}, {err.get(), POLLIN, 0}}};
    const std::array<std::string*, 2> texts{&finished.out, &finished.err};
    std::array<char, 16384> block{};
    while (fds[0].fd >= 0 || fds[1].fd >= 0) {
        if (::poll(fds.data(), fds.size(), -1) < 0) continue;
        for (std::size_t i = 0; i < fds.size(); ++i) {
            if (fds[i].fd < 0 || fds[i].revents == 0) continue;
            const ssize_t n = ::read(fds[i].fd, block.data(), block.size());
            if (n > 0)
                texts[i]->append(block.data(), static_cast<std::size_t>(n));
            else if (n == 0 || errno != EINTR)
                fds[i].fd = -1;
        }
    }
}

int wait_for(pid_t pid) {
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return exit_code_of(status);
}

constexpr std::array<int, 4> kForwarded{SIGINT, SIGTERM, SIGHUP, SIGQUIT};

// Blocks the signals that are passed on, for as long as it lives; they are taken with sigtimedwait.
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
    // The next one, with its sender.
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

int exit_code_of(int status) {
    constexpr int kSignalBase = 128;
    return WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
}

void announce_programs() {
    announcing = true;
}

sys::Result<int> run_foreground(const std::vector<std::string>& argv) {
    announce(argv);
    const BlockedSignals signals;
    const auto arguments = exec_arguments(argv);
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) return sys::errno_error(argv[0]);
    if (pid == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // killed, this program takes the child along
        if (::getppid() != parent) ::_exit(kNotStarted);
        ::sigprocmask(SIG_SETMASK, &signals.before(), nullptr);
        ::execvp(argv[0].c_str(), arguments.data());
        ::_exit(kNotStarted);
    }
    for (;;) {
        const siginfo_t info = signals.take();
        int status = 0;
        if (::waitpid(pid, &status, WNOHANG) == pid) return exit_code_of(status);
        // From the terminal (SI_KERNEL) the child got it as well.
        if (info.si_signo != SIGCHLD && info.si_code != SI_KERNEL) ::kill(pid, info.si_signo);
    }
}

sys::Result<Finished> run_program(const std::vector<std::string>& argv, const std::string& input) {
    announce(argv);
    const auto in = input_file(input);
    if (!in) return in.error();
    auto out = sys::make_pipe();
    if (!out) return out.error();
    auto err = sys::make_pipe();
    if (!err) return err.error();
    SpawnActions actions;
    actions.connect(*in, STDIN_FILENO);
    actions.connect(out->write, STDOUT_FILENO);
    actions.connect(err->write, STDERR_FILENO);
    const auto pid = spawn(argv, actions);
    if (!pid) return pid.error();
    out->write.reset();
    err->write.reset();
    Finished finished;
    drain(out->read, err->read, finished);
    finished.status = wait_for(*pid);
    return finished;
}

std::string first_line(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        if (line.find_first_not_of(" \t") != std::string::npos) return line;
    return {};
}

bool on_path(const std::string& program) {
    const char* path = std::getenv("PATH");
    std::istringstream directories(path != nullptr ? path : "/usr/bin:/bin");
    for (std::string directory; std::getline(directories, directory, ':');)
        if (::access((directory + "/" + program).c_str(), X_OK) == 0) return true;
    return false;
}

}  // namespace batchai::cli

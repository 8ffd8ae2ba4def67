// SPDX-License-Identifier: Apache-2.0
#include "sys/subprocess.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "sys/c_strings.hpp"
#include "sys/child.hpp"
#include "sys/file.hpp"
#include "sys/pipe.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::sys {
namespace {

using Clock = std::chrono::steady_clock;

// The exit code of a program that another part of the process has reaped.
constexpr int kUnknownCode = 255;

// Runs in the child if it could not execute the program.
[[noreturn]] void give_up(int failure) {
    const int why = errno;
    (void)!::write(failure, &why, sizeof why);
    ::_exit(1);
}

// Runs in the child: only calls that are safe there (child.hpp). It writes an errno to `failure` if
// the program cannot run.
[[noreturn]] void become(const Program& program, char* const* argv, char* const* environment,
                         const sigset_t& mask, pid_t parent, int failure) {
    if (program.death_signal != 0) ::prctl(PR_SET_PDEATHSIG, program.death_signal);
    if (::getppid() != parent) ::_exit(1);
    // Copy the descriptors above the standard numbers first: one of them may have a number that
    // another one needs.
    std::array<int, 3> wanted{program.in, program.out, program.err};
    for (int& fd : wanted)
        if (fd >= 0 && (fd = ::fcntl(fd, F_DUPFD_CLOEXEC, 3)) < 0) give_up(failure);
    for (int number = 0; number < 3; ++number)
        if (wanted[number] >= 0 && ::dup2(wanted[number], number) < 0) give_up(failure);
    if (program.closes_others) ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    ::sigprocmask(SIG_SETMASK, &mask, nullptr);
    ::execvpe(argv[0], argv, environment);
    give_up(failure);
}

// The input as a file in memory: the child may leave it unread, and neither process waits.
Result<UniqueFd> input_file(const std::string& input) {
    UniqueFd file(::memfd_create("input", MFD_CLOEXEC));
    if (!file) return errno_error("memfd_create");
    if (auto done = write_all(file.get(), input); !done) return done.error().in("memfd");
    if (::lseek(file.get(), 0, SEEK_SET) != 0) return errno_error("memfd seek");
    return file;
}

void (*told)(const std::vector<std::string>& argv) = nullptr;

}  // namespace

Result<Subprocess> Subprocess::start(const Program& program) {
    auto failure = make_pipe();
    if (!failure) return failure.error();
    const CStrings argv(program.argv);
    std::optional<CStrings> environment;
    if (program.environment) environment.emplace(*program.environment);
    const pid_t parent = ::getpid();
    Subprocess started(start_child([&](const sigset_t& own) {
        become(program, argv.get(), environment ? environment->get() : environ,
               program.mask != nullptr ? *program.mask : own, parent, failure->write.get());
    }));
    if (started.pid_ < 0) return errno_error(program.argv[0]);
    failure->write.reset();
    int why = 0;
    ssize_t n = 0;
    while ((n = ::read(failure->read.get(), &why, sizeof why)) < 0 && errno == EINTR) {
    }
    if (n != 0) return errno_error(program.argv[0], why);
    return started;
}

Subprocess& Subprocess::operator=(Subprocess&& other) noexcept {
    if (this == &other) return *this;
    (void)end();
    pid_ = std::exchange(other.pid_, -1);
    return *this;
}

int Subprocess::wait() {
    int status = 0;
    pid_t reaped = 0;
    while ((reaped = ::waitpid(pid_, &status, 0)) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return reaped < 0 ? kUnknownCode : exit_code_of(status);
}

std::optional<int> Subprocess::test() {
    int status = 0;
    const pid_t reaped = ::waitpid(pid_, &status, WNOHANG);
    if (reaped == 0 || (reaped < 0 && errno == EINTR)) return std::nullopt;
    pid_ = -1;
    return reaped < 0 ? kUnknownCode : exit_code_of(status);
}

int Subprocess::end() {
    if (pid_ <= 0) return -1;
    ::kill(pid_, SIGKILL);
    return wait();
}

void tell_of_runs(void (*tell)(const std::vector<std::string>& argv)) {
    told = tell;
}

Result<Finished> run(Program program, const std::string& input, std::chrono::seconds limit) {
    if (told != nullptr) told(program.argv);
    const auto in = input_file(input);
    if (!in) return in.error();
    auto out = make_pipe();
    if (!out) return out.error();
    auto err = make_pipe();
    if (!err) return err.error();
    program.death_signal = SIGTERM;
    program.in = in->get();
    program.out = out->write.get();
    program.err = err->write.get();
    auto child = Subprocess::start(program);
    if (!child) return child.error();
    out->write.reset();
    err->write.reset();
    const auto deadline = Clock::now() + limit;
    auto texts = read_until({out->read.get(), err->read.get()}, deadline);
    if (Clock::now() >= deadline)  // the destructor of child ends it
        return Error{"no answer in " + std::to_string(limit.count()) + " s"};
    return Finished{child->wait(), std::move(texts[0]), std::move(texts[1])};
}

int exit_code_of(int status) {
    constexpr int kSignalBase = 128;
    return WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
}

std::vector<std::string> read_until(const std::vector<int>& descriptors, Clock::time_point deadline,
                                    std::size_t maximum) {
    constexpr int kLongest = 60'000;  // the longest poll, in milliseconds
    std::vector<std::string> texts(descriptors.size());
    std::vector<pollfd> open;
    for (const int fd : descriptors) open.push_back({fd, POLLIN, 0});
    std::array<char, 16384> block;
    const auto is_open = [](const pollfd& end) { return end.fd >= 0; };
    while (std::any_of(open.begin(), open.end(), is_open)) {
        const Clock::time_point now = Clock::now();
        if (now >= deadline) break;
        const bool soon = deadline - now < std::chrono::milliseconds(kLongest);
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(
            soon ? deadline - now : std::chrono::milliseconds(kLongest));
        if (::poll(open.data(), open.size(), static_cast<int>(left.count())) <= 0) continue;
        for (std::size_t i = 0; i < open.size(); ++i) {
            if (!is_open(open[i]) || open[i].revents == 0) continue;
            const std::size_t room = std::min(block.size(), maximum - texts[i].size());
            const ssize_t n = ::read(open[i].fd, block.data(), room);
            if (n > 0)
                texts[i].append(block.data(), static_cast<std::size_t>(n));
            else if (n == 0 || errno != EINTR)
                open[i].fd = -1;
        }
    }
    return texts;
}

}  // namespace batchai::sys

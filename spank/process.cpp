// SPDX-License-Identifier: Apache-2.0
#include "spank/process.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "spank/limits.hpp"
#include "spank/linux_calls.hpp"

namespace batchai::spank {

MemoryFile::MemoryFile() : fd_(memfd_create("batchai", MFD_CLOEXEC)) {}

MemoryFile::~MemoryFile() {
    if (fd_ >= 0) close(fd_);
}

void MemoryFile::add(const char* data, size_t length) {
    while (length > 0) {
        ssize_t written = write(fd_, data, length);
        if (written <= 0) return;  // out of memory; the reader reports the missing end
        data += written;
        length -= static_cast<size_t>(written);
    }
}

void MemoryFile::add_field(const char* name, const char* value) {
    add(name, strlen(name));
    add("=", 1);
    add(value, strlen(value) + 1);
}

void MemoryFile::rewind() {
    lseek(fd_, 0, SEEK_SET);
}

char* MemoryFile::text() const {
    struct stat info = {};
    if (fstat(fd_, &info) != 0) return nullptr;
    char* text = static_cast<char*>(malloc(static_cast<size_t>(info.st_size) + 1));
    if (!text) return nullptr;
    ssize_t length = pread(fd_, text, static_cast<size_t>(info.st_size), 0);
    text[length > 0 ? length : 0] = '\0';
    return text;
}

namespace {

// Runs in the child after fork(), so it makes only async-signal-safe calls.
[[noreturn]] void become(const Program& program, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    struct sigaction standard = {};
    standard.sa_handler = SIG_DFL;
    for (int number = 1; number < NSIG; ++number) sigaction(number, &standard, nullptr);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);

    // Copy the descriptors above the standard numbers first: one of them may have a number that
    // another one needs.
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int wanted[4] = {program.in, program.out, program.err, program.extra};
    for (int& fd : wanted) fd = fcntl(fd >= 0 ? fd : null, F_DUPFD_CLOEXEC, 10);
    for (int number = 0; number < 4; ++number) dup2(wanted[number], number);
    close_range(program.extra >= 0 ? 4 : 3, ~0U, CLOSE_RANGE_CLOEXEC);

    Limit limits[kLimitCount];
    const int count = program.limits ? submitted_limits(program.limits, limits) : 0;
    for (int i = 0; i < count; ++i) apply(limits[i]);

    execve(program.path, const_cast<char* const*>(program.argv), program.environment);
    _exit(127);
}

long long now_ms() {
    timespec time = {};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

// A descriptor that is readable while a SIGTERM is pending, which stays so; -1: SIGTERM is not
// blocked. Slurm blocks it in a task that has not started. If a job is cancelled, Slurm sends it to
// its own children only (proctrack/cgroup), and SIGKILL to the others after KillWait.
int pending_end() {
    sigset_t blocked, end;
    if (sigprocmask(SIG_BLOCK, nullptr, &blocked) != 0 || !sigismember(&blocked, SIGTERM))
        return -1;
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    return signalfd(-1, &end, SFD_CLOEXEC);
}

// True when the child ended within the time. It gets a SIGTERM that is sent to us meanwhile.
bool wait_until(pid_t child, int pidfd, int seconds) {
    const long long end = now_ms() + seconds * 1000LL;
    int told = pending_end();
    int ready = 0;
    bool ended = false;
    while (!ended && (ready >= 0 || errno == EINTR)) {
        const long long left = end - now_ms();
        if (left <= 0) break;
        pollfd events[2] = {{pidfd, POLLIN, 0}, {told, POLLIN, 0}};
        ready = poll(events, 2, static_cast<int>(left < 60000 ? left : 60000));
        ended = ready > 0 && events[0].revents != 0;
        if (ended || ready <= 0 || events[1].revents == 0) continue;
        kill(child, SIGTERM);
        close(told);
        told = -1;
    }
    if (told >= 0) close(told);
    return ended;
}

// While an object of this class exists, this process can wait for its children. If its parent
// ignored SIGCHLD, this process does so too, and the kernel then reaps the children.
class WaitingForChildren {
  public:
    WaitingForChildren() {
        sigaction(SIGCHLD, nullptr, &before_);
        if (before_.sa_handler != SIG_IGN && !(before_.sa_flags & SA_NOCLDWAIT)) return;
        struct sigaction waiting = before_;
        if (waiting.sa_handler == SIG_IGN) waiting.sa_handler = SIG_DFL;
        waiting.sa_flags &= ~SA_NOCLDWAIT;
        changed_ = sigaction(SIGCHLD, &waiting, nullptr) == 0;
    }
    ~WaitingForChildren() {
        if (changed_) sigaction(SIGCHLD, &before_, nullptr);
    }
    WaitingForChildren(const WaitingForChildren&) = delete;
    WaitingForChildren& operator=(const WaitingForChildren&) = delete;

  private:
    struct sigaction before_ = {};
    bool changed_ = false;
};

}  // namespace

DyingWithParent::DyingWithParent() {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == 1) _exit(1);  // the parent has ended already
}

DyingWithParent::~DyingWithParent() {
    prctl(PR_SET_PDEATHSIG, 0);
}

int run(const Program& program) {
    if (access(program.path, X_OK) != 0) return kNotStarted;
    const WaitingForChildren waiting;
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0) return kNotStarted;
    if (child == 0) become(program, parent);

    int pidfd = pidfd_open(child, 0);
    bool ended = pidfd >= 0 && wait_until(child, pidfd, program.seconds);
    if (!ended) kill(child, SIGKILL);
    if (pidfd >= 0) close(pidfd);
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return kNotStarted;  // another SIGCHLD handler has reaped it
    if (!ended) return kTimedOut;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

SlurmCommand::SlurmCommand(const char* name) {
    constexpr const char* kSrun = BATCHAI_SRUN;
    static_assert(kSrun[0] == '/');  // root does not look for programs in other ways
    char own[2048] = "";
    const ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length > 0 ? length : 0] = '\0';
    for (int level = 0; level < 2; ++level)
        if (char* slash = strrchr(own, '/')) *slash = '\0';
    snprintf(path, sizeof path, "%s/bin/%s", own, name);
    if (length > 0 && access(path, X_OK) == 0) return;
    const int directory = static_cast<int>(strrchr(kSrun, '/') - kSrun);
    snprintf(path, sizeof path, "%.*s/%s", directory, kSrun, name);
}

}  // namespace batchai::spank

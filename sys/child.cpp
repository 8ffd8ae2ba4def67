// SPDX-License-Identifier: Apache-2.0
#include "sys/child.hpp"

#include <unistd.h>

#include <cerrno>

namespace batchai::sys {
namespace {

// A handler of the parent must not run in the child, because it would use the parent's memory.
void reset_handlers() {
    for (int signal = 1; signal < NSIG; ++signal) {
        struct sigaction action {};
        if (::sigaction(signal, nullptr, &action) != 0) continue;
        if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) continue;
        action = {};
        action.sa_handler = SIG_DFL;
        ::sigaction(signal, &action, nullptr);
    }
}

// In a frame of its own, below the parent's.
[[noreturn, gnu::noinline]] void run(void (*become)(const void*, const sigset_t&),
                                     const void* argument, const sigset_t& mask) {
    reset_handlers();
    become(argument, mask);
    ::_exit(1);
}

}  // namespace

pid_t start_child(void (*become)(const void*, const sigset_t&), const void* argument) {
    sigset_t all, own;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &own);
    // POSIX.1-2001 allows the child only exec and _exit. On Linux it may use the stack below this
    // frame, because this thread waits.
    const pid_t pid = ::vfork();               // NOLINT(clang-analyzer-security.insecureAPI.vfork)
    if (pid == 0) run(become, argument, own);  // NOLINT(clang-analyzer-unix.Vfork)
    const int error = errno;
    ::pthread_sigmask(SIG_SETMASK, &own, nullptr);
    errno = error;
    return pid;
}

}  // namespace batchai::sys

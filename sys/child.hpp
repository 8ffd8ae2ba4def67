// SPDX-License-Identifier: Apache-2.0
//
// start_child: the child process in which a program is executed, made by vfork(2). A fork() copies
// page tables, and the kernel then copies a page when either process first writes it. With many
// libraries this took a launcher's agent 1.6 ms of processor time for each rank (perf).
#pragma once

#include <signal.h>
#include <sys/types.h>

namespace batchai::sys {

// Calls become(argument, mask) in a child process. All signals but glibc's own two are blocked
// there, and those that have handlers are reset. mask: the signals that this thread blocks.
//
// become sets the child's signal mask and executes a program at once. If it returns, the child ends
// with exit code 1. It takes no lock, allocates no memory, throws nothing, and keeps its user and
// groups. It changes no memory except its stack and errno, which are those of the calling thread.
//
// The calling thread handles no signal and waits until the program is executed or the child has
// ended, or until its own process is killed. ThreadSanitizer and some emulators make vfork a fork:
// the child then has memory of its own, and the caller does not wait.
//
// Returns the child's process id, which the caller reaps; -1, with errno, if there is no child. Any
// thread may call it.
pid_t start_child(void (*become)(const void* argument, const sigset_t& mask), const void* argument);

// The same for an object that is called with the mask.
template <class Become>
pid_t start_child(const Become& become) {
    return start_child([](const void* object,
                          const sigset_t& mask) { (*static_cast<const Become*>(object))(mask); },
                       &become);
}

}  // namespace batchai::sys

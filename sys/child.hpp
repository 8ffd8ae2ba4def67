// SPDX-License-Identifier: Apache-2.0
//
// start_child: the child process in which a program is executed, made by vfork(2). A fork() copies
// the page tables, and both processes then copy each page that they write. With many libraries
// this took a launcher's agent 1.6 ms of processor time for each rank.
#pragma once

#include <signal.h>
#include <sys/types.h>

namespace batchai::sys {

// Calls become(argument, mask) in a child process, with all signals blocked and those that have
// handlers reset. mask: the signals that this thread blocks.
//
// become sets the child's signal mask, executes a program at once, and otherwise ends with _exit.
// It takes no lock and allocates no memory. It must neither change the parent's memory, which the
// child uses, nor need a copy of its own: sanitizers and emulators make vfork a fork.
//
// The calling thread waits until the program is executed or the child has ended; only SIGKILL
// interrupts that. Returns the child's process id, which the caller reaps; -1, with errno, if there
// is no child. Any thread may call it.
pid_t start_child(void (*become)(const void* argument, const sigset_t& mask), const void* argument);

// The same for an object that is called with the mask.
template <class Become>
pid_t start_child(const Become& become) {
    return start_child([](const void* object,
                          const sigset_t& mask) { (*static_cast<const Become*>(object))(mask); },
                       &become);
}

}  // namespace batchai::sys

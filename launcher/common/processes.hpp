// SPDX-License-Identifier: Apache-2.0
//
// The processes below this one. Agent and guard are child subreapers, so a process whose parent has
// ended becomes their child and is found here.
#pragma once

#include <sys/types.h>

namespace batchai::launcher {

// Whether a process is exiting or gone. It is true already when the process's sockets are closed,
// before wait() returns it.
bool is_ending(pid_t pid);

// Whether `pid` is `ancestor` or one of its descendants.
bool is_below(pid_t pid, pid_t ancestor);

// The process that does the work of a program. If a process only waits for a single child, as
// shells do, it is that child, and so on.
pid_t working_process(pid_t pid);

// Sends the signal to every child of this process. Returns the number of children.
int signal_children(int signal);

// Kills all descendants of this process and waits for them.
void kill_descendants();

}  // namespace batchai::launcher

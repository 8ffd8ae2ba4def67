// SPDX-License-Identifier: Apache-2.0
//
// The processes below this one. Agent and guard are child subreapers: a process that a rank leaves
// behind becomes their child and is found here.
#pragma once

#include <sys/types.h>

namespace batchai::launcher {

// Whether a process has begun to end, or is gone. Already true when its sockets hang up, before it
// can be waited for.
bool is_ending(pid_t pid);

// Whether a process is the other one, or below it.
bool is_below(pid_t pid, pid_t ancestor);

// The process that a program's first one is about: where that only waits for a single child, as
// shells do, the child, and so on.
pid_t working_process(pid_t pid);

// Sends the signal to every child of this process; returns how many there are.
int signal_children(int signal);

// Kills every process below this one, however deep, and waits for all of them.
void kill_descendants();

}  // namespace batchai::launcher

// SPDX-License-Identifier: Apache-2.0
//
// The current state of a process, from the kernel (proc(5)), for a report of a stalled job. Reading
// it neither stops the process nor blocks.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace batchai::launcher {

// "sleeping in futex_do_wait, 3.2 s of CPU time, 5 threads"; "is gone" if there is no such process.
std::string process_state(pid_t pid);

// The letter of the process's state in /proc/PID/stat: 'T' stopped, 'D' waiting for a disk; 0:
// there is no such process.
char process_letter(pid_t pid);

// Like process_state(pid), from the texts of /proc/PID/stat and /proc/PID/wchan. ticks: clock ticks
// per second.
std::string process_state(std::string_view stat, std::string_view wchan, long ticks);

}  // namespace batchai::launcher

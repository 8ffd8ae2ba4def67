// SPDX-License-Identifier: Apache-2.0
//
// The current state of a process, from the kernel (proc(5)), for a report of a stalled job. Reading
// it neither stops the process nor blocks.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace batchai::launcher {

// "sleeping in futex_do_wait, 3.2 s of CPU time, 5 threads"; of a process that is gone: "is gone".
std::string process_state(pid_t pid);

// Its state's letter in /proc/PID/stat: 'T' stopped, 'D' waiting for a disk; 0: it is gone.
char process_letter(pid_t pid);

// The same from the texts of /proc/PID/stat and /proc/PID/wchan, with so many clock ticks a second.
std::string process_state(std::string_view stat, std::string_view wchan, long ticks);

}  // namespace batchai::launcher

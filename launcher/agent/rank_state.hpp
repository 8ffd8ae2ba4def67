// SPDX-License-Identifier: Apache-2.0
//
// What the kernel says about ranks: the current state of a process (proc(5)), for a report of a
// stalled job, and kills for lack of memory. Reading it stops no process, and does not block.
#pragma once

#include <sys/types.h>

#include <cstdint>
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

// The file with the kernel's counter, found from the text of /proc/self/cgroup; empty: none.
std::string memory_kills_file(std::string_view cgroups);

// The memory that this process's control group uses and may use, in bytes. That is the job's on
// this node, if Slurm limits it; without a limit, the machine's.
struct MemoryUse {
    double used = 0, limit = 0;
};
MemoryUse memory_of_job();

// Counts the processes that the kernel has killed for lack of memory in this process's control
// group, which the ranks share. Source: the kernel's admin-guide/cgroup-v2 (memory.events,
// "oom_kill") and cgroup-v1/memory (memory.oom_control, "oom_kill").
class MemoryKills {
  public:
    MemoryKills();
    // Whether the kernel has killed a process since the last call, or since the constructor.
    bool any_new();

  private:
    std::uint64_t count() const;

    std::string file_;
    std::uint64_t known_ = 0;
};

}  // namespace batchai::launcher

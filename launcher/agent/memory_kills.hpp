// SPDX-License-Identifier: Apache-2.0
//
// MemoryKills: counts the processes that the kernel has killed for lack of memory in this process's
// control group, which the ranks share. Source: the kernel's admin-guide/cgroup-v2 (memory.events,
// "oom_kill") and cgroup-v1/memory (memory.oom_control, "oom_kill").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace batchai::launcher {

// The file with the kernel's counter, found from the text of /proc/self/cgroup; empty: none.
std::string memory_kills_file(std::string_view cgroups);

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

// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/memory_kills.hpp"

#include <fstream>
#include <sstream>

#include "launcher/common/processes.hpp"

namespace batchai::launcher {

// The lines are "0::/path" of cgroup version 2, or "4:memory:/path" or "4:cpu,memory:/path" of
// version 1. If both versions are mounted, only one of them controls memory.
std::string memory_kills_file(std::string_view cgroups) {
    std::string file;
    std::istringstream lines{std::string(cgroups)};
    for (std::string line; std::getline(lines, line);) {
        const auto first = line.find(':'), second = line.find(':', first + 1);
        if (first == line.npos || second == line.npos) continue;
        const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
        const std::string path = line.substr(second + 1);
        if (controllers.find(",memory,") != controllers.npos) {
            return "/sys/fs/cgroup/memory" + path + "/memory.oom_control";
        }
        if (controllers == ",,") file = "/sys/fs/cgroup" + path + "/memory.events";
    }
    return file;
}

MemoryKills::MemoryKills() {
    file_ = memory_kills_file(content_of("/proc/self/cgroup"));
    known_ = count();
}

std::uint64_t MemoryKills::count() const {
    std::ifstream file(file_);
    std::string name;
    for (std::uint64_t value = 0; file >> name >> value;) {
        if (name == "oom_kill") return value;
    }
    return 0;
}

bool MemoryKills::any_new() {
    const std::uint64_t before = known_;
    known_ = count();
    return known_ > before;
}

}  // namespace batchai::launcher

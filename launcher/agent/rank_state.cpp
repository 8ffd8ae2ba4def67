// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/rank_state.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "launcher/common/processes.hpp"

namespace batchai::launcher {
namespace {

const char* word_of(char state) {
    switch (state) {
        case 'R':
            return "running";
        case 'S':
            return "sleeping";
        case 'D':
            return "waiting for a disk or a file server";
        case 'T':
            return "stopped by a signal";
        case 't':
            return "stopped by a debugger";
        case 'Z':
            return "ended";
        default:
            return "idle";
    }
}

}  // namespace

std::string process_state(std::string_view stat, std::string_view wchan, long ticks) {
    const auto process = parse_stat(stat);
    if (!process) return "is gone";
    const double used = static_cast<double>(process->user + process->system);
    std::string text = word_of(process->state);
    if (process->state != 'R' && !wchan.empty() && wchan != "0")
        text += fmt::format(" in {}", wchan);
    text += fmt::format(", {:.1f} s of CPU time", used / static_cast<double>(ticks));
    if (process->threads > 1) text += fmt::format(", {} threads", process->threads);
    return text;
}

char process_letter(pid_t pid) {
    const auto stat = stat_of(pid);
    return stat ? stat->state : '\0';
}

std::string process_state(pid_t pid) {
    const auto text = [pid](const char* name) {
        return content_of(fmt::format("/proc/{}/{}", pid, name));
    };
    return process_state(text("stat"), text("wchan"), ::sysconf(_SC_CLK_TCK));
}

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

MemoryUse memory_of_job() {
    MemoryUse memory;
    std::istringstream lines(content_of("/proc/meminfo"));  // "MemTotal:   16 kB"
    double total = 0, available = 0, kilobytes = 0;
    std::string name, unit;
    for (; lines >> name >> kilobytes && std::getline(lines, unit);) {
        if (name == "MemTotal:") total = kilobytes * 1024;
        if (name == "MemAvailable:") available = kilobytes * 1024;
    }
    memory = {total - available, total};
    const std::filesystem::path file = memory_kills_file(content_of("/proc/self/cgroup"));
    const bool second = file.filename() == "memory.events";  // version 2
    for (auto group = file.parent_path(); group.has_relative_path(); group = group.parent_path()) {
        const auto read = [&group](const char* which) {
            return std::strtod(content_of(group / which).c_str(), nullptr);  // "max" is 0
        };
        const double limit = read(second ? "memory.max" : "memory.limit_in_bytes");
        if (limit <= 0 || limit >= memory.limit) continue;
        memory = {read(second ? "memory.current" : "memory.usage_in_bytes"), limit};
    }
    return memory;
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

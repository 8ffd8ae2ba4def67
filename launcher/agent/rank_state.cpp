// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/rank_state.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>

namespace batchai::launcher {
namespace {

std::string proc_text(pid_t pid, const char* name) {
    std::ifstream file(fmt::format("/proc/{}/{}", pid, name));
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

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
    // The process's name, in parentheses, may contain any character.
    const auto end = stat.rfind(')');
    char state = 0;
    unsigned long user = 0, system = 0;
    long threads = 0;
    if (end == stat.npos ||
        std::sscanf(std::string(stat.substr(end + 1)).c_str(),
                    " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %ld",
                    &state, &user, &system, &threads) != 4) {
        return "is gone";
    }
    std::string text = word_of(state);
    if (state != 'R' && !wchan.empty() && wchan != "0") text += fmt::format(" in {}", wchan);
    text += fmt::format(", {:.1f} s of CPU time",
                        static_cast<double>(user + system) / static_cast<double>(ticks));
    if (threads > 1) text += fmt::format(", {} threads", threads);
    return text;
}

char process_letter(pid_t pid) {
    const std::string stat = proc_text(pid, "stat");
    const auto end = stat.rfind(") ");
    return end == stat.npos || end + 2 >= stat.size() ? '\0' : stat[end + 2];
}

std::string process_state(pid_t pid) {
    return process_state(proc_text(pid, "stat"), proc_text(pid, "wchan"), ::sysconf(_SC_CLK_TCK));
}

}  // namespace batchai::launcher

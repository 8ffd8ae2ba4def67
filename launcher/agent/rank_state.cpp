// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/rank_state.hpp"

#include <fmt/format.h>
#include <unistd.h>

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

}  // namespace batchai::launcher

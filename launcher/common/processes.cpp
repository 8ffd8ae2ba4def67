// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/processes.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>
#include <utility>

#include "sys/file.hpp"
#include "sys/paths.hpp"

namespace batchai::launcher {
namespace {

std::vector<pid_t> children() {
    std::vector<pid_t> found;
    // If this process has no children, it need not read all of /proc. WNOWAIT: the child stays to
    // be reaped.
    siginfo_t ended{};
    if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD) return {};
    const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), ::closedir);
    while (const dirent* entry = proc ? ::readdir(proc.get()) : nullptr) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
        const pid_t pid = std::atoi(entry->d_name);
        const auto stat = stat_of(pid);
        if (stat && stat->parent == ::getpid()) found.push_back(pid);
    }
    return found;
}

// Adds the children of a thread.
void add_children(const std::filesystem::path& thread, std::vector<pid_t>& children) {
    std::ifstream list(thread / "children");
    for (pid_t child = 0; list >> child;) children.push_back(child);
}

}  // namespace

std::string content_of(const std::string& path) {
    constexpr std::size_t kMost = 16 << 20;
    auto text = sys::read_file(path, kMost);
    return text ? *std::move(text) : std::string();
}

std::optional<ProcessStat> stat_of(pid_t pid) {
    return parse_stat(content_of("/proc/" + std::to_string(pid) + "/stat"));
}

// "PID (name) state PPID pgrp session tty tpgid flags ...". The name may contain any characters, so
// parsing starts at the last parenthesis.
std::optional<ProcessStat> parse_stat(std::string_view text) {
    const auto end = text.rfind(')');
    ProcessStat stat;
    std::array<long, 2> ended{};  // user and system time
    if (end == text.npos ||
        std::sscanf(std::string(text.substr(end + 1)).c_str(),
                    " %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %lu %lu %ld %ld %*d %*d %ld %*d "
                    "%" SCNu64 " %*u %ld",
                    &stat.state, &stat.parent, &stat.flags, &stat.user, &stat.system, &ended[0],
                    &ended[1], &stat.threads, &stat.start, &stat.resident) < 9) {
        return std::nullopt;
    }
    stat.of_children = static_cast<unsigned long>(ended[0] + ended[1]);
    return stat;
}

bool is_ending(pid_t pid) {
    constexpr unsigned kExiting = 0x4;  // PF_EXITING, the kernel's include/linux/sched.h
    const auto stat = stat_of(pid);
    return !stat || (stat->flags & kExiting) != 0;
}

std::uint64_t ticks_since_boot() {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    const auto ticks = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
    constexpr std::uint64_t kNanoseconds = 1'000'000'000;
    return static_cast<std::uint64_t>(now.tv_sec) * ticks +
           static_cast<std::uint64_t>(now.tv_nsec) * ticks / kNanoseconds;
}

std::vector<pid_t> openers_of(const std::vector<OpenSocket>& sockets) {
    std::vector<pid_t> openers(sockets.size(), 0);
    std::vector<std::uint64_t> starts(sockets.size(), 0);
    std::error_code error;
    std::vector<std::string> names;
    for (const OpenSocket& socket : sockets)
        names.push_back("socket:[" + std::to_string(socket.inode) + "]");
    std::filesystem::directory_iterator process("/proc", error);
    for (; process != std::filesystem::directory_iterator(); process.increment(error)) {
        const pid_t pid = std::atoi(process->path().filename().c_str());
        if (pid <= 0) continue;
        std::filesystem::directory_iterator files(process->path() / "fd", error);
        std::optional<ProcessStat> stat;
        for (; !error && files != std::filesystem::directory_iterator(); files.increment(error)) {
            std::error_code gone;
            const std::string target = std::filesystem::read_symlink(files->path(), gone);
            for (std::size_t i = 0; i < sockets.size(); ++i) {
                if (target != names[i]) continue;
                if (!stat) stat = stat_of(pid);
                if (!stat || stat->start > sockets[i].time) continue;
                if (openers[i] != 0 && starts[i] <= stat->start) continue;
                openers[i] = pid;
                starts[i] = stat->start;
            }
        }
    }
    return openers;
}

bool is_below(pid_t pid, pid_t ancestor) {
    constexpr int kDeepest = 64;
    for (int i = 0; i < kDeepest && pid > 1; ++i) {
        if (pid == ancestor) return true;
        const auto stat = stat_of(pid);
        if (!stat) return false;
        pid = stat->parent;
    }
    return false;
}

std::vector<pid_t> children_of(pid_t pid) {
    std::vector<pid_t> children;
    std::error_code failure;
    std::filesystem::directory_iterator thread(fmt::format("/proc/{}/task", pid), failure), end;
    for (; !failure && thread != end; thread.increment(failure))
        add_children(thread->path(), children);
    return children;
}

Usage usage_of(pid_t pid) {
    constexpr std::size_t kMost = 256;            // processes
    constexpr std::string_view kLetters = "RDT";  // the busiest first
    Usage usage;
    std::size_t busiest = kLetters.size();
    const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
    const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
    std::vector<pid_t> processes{pid};
    for (std::size_t i = 0; i < processes.size() && i < kMost; ++i) {
        const auto stat = stat_of(processes[i]);
        if (!stat) continue;
        if (usage.state == 0) usage.state = stat->state;
        if (const auto place = kLetters.find(stat->state); place < busiest) {
            busiest = place;
            usage.state = stat->state;
        }
        usage.cpu += static_cast<double>(stat->user + stat->system + stat->of_children) / ticks;
        usage.resident += static_cast<double>(stat->resident) * page;
        add_children(fmt::format("/proc/{0}/task/{0}", processes[i]), processes);
    }
    return usage;
}

pid_t working_process(pid_t pid) {
    while (true) {
        const auto children = children_of(pid);
        const bool waits = content_of(fmt::format("/proc/{}/wchan", pid)) == "do_wait";
        if (!waits || children.size() != 1) return pid;
        pid = children[0];
    }
}

bool has_child_launch() {
    const std::string own = sys::own_executable();
    const std::vector<pid_t> all = children();
    return std::any_of(all.begin(), all.end(), [&own](pid_t pid) {
        const std::string directory = "/proc/" + std::to_string(pid);
        std::error_code gone;
        if (std::filesystem::read_symlink(directory + "/exe", gone) != own) return false;
        // A launch's own processes have one of these words.
        constexpr std::array<std::string_view, 4> kOfLaunch{"--agent", "--stand-in", "--sweep",
                                                            "--attach"};
        const std::string words = content_of(directory + "/cmdline");
        const std::string first = words.c_str() + std::min(words.find('\0') + 1, words.size());
        return std::find(kOfLaunch.begin(), kOfLaunch.end(), first) == kOfLaunch.end();
    });
}

int signal_children(int signal) {
    const std::vector<pid_t> all = children();
    for (const pid_t pid : all) ::kill(pid, signal);
    return static_cast<int>(all.size());
}

void kill_descendants() {
    // The children of a killed process become children of this one, so each round kills the next
    // generation.
    while (signal_children(SIGKILL) > 0) {
        if (::waitpid(-1, nullptr, 0) < 0) return;
        while (::waitpid(-1, nullptr, WNOHANG) > 0) continue;
    }
    while (::waitpid(-1, nullptr, WNOHANG) > 0) continue;
}

}  // namespace batchai::launcher

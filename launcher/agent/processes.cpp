// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/processes.hpp"

#include <dirent.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

namespace batchai::launcher {
namespace {

// The parent of a process, from /proc/PID/stat: "PID (name) state PPID ..."; the name may hold
// anything, so the fields are counted from its last parenthesis.
pid_t parent_of(const char* pid) {
    const std::string path = std::string("/proc/") + pid + "/stat";
    const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "re"), std::fclose);
    char line[512];
    if (!file || std::fgets(line, sizeof line, file.get()) == nullptr) return -1;
    const char* end = std::strrchr(line, ')');
    int parent = -1;
    if (end == nullptr || std::sscanf(end + 1, " %*c %d", &parent) != 1) return -1;
    return parent;
}

}  // namespace

int signal_children(int signal) {
    const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), ::closedir);
    int found = 0;
    while (const dirent* entry = proc ? ::readdir(proc.get()) : nullptr) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
        if (parent_of(entry->d_name) != ::getpid()) continue;
        ++found;
        ::kill(std::atoi(entry->d_name), signal);
    }
    return found;
}

void kill_descendants() {
    // The children of a killed child become ours, so each round goes one generation deeper.
    while (signal_children(SIGKILL) > 0) {
        if (::waitpid(-1, nullptr, 0) < 0) return;
        while (::waitpid(-1, nullptr, WNOHANG) > 0) continue;
    }
    while (::waitpid(-1, nullptr, WNOHANG) > 0) continue;
}

}  // namespace batchai::launcher

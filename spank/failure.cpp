// SPDX-License-Identifier: Apache-2.0
#include "spank/failure.hpp"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace batchai::spank {
namespace {

// At a step's first failure srun ends the other tasks, and may then drop output that is still on
// its way. So wait until slurmstepd has read our line, before srun can learn of the failure.
void let_pass(int fd) {
    struct stat info;
    if (fstat(fd, &info) != 0 || !S_ISFIFO(info.st_mode)) return;
    int left = 0;
    for (int tries = 0; tries < 100 && ioctl(fd, FIONREAD, &left) == 0 && left > 0; ++tries)
        usleep(10'000);
    usleep(20'000);
}

// Replaces bytes that could control a terminal: the line may come from the user's processes.
// letters: bytes beyond ASCII stay.
void make_harmless(char* line, bool letters) {
    for (; *line; ++line) {
        const auto byte = static_cast<unsigned char>(*line);
        if (byte < ' ' || byte == 0x7f || (byte > '~' && !letters)) *line = '?';
    }
}

}  // namespace

void fail(const slurm::Task& task, const char* line) {
    if (task.first_on_node) {
        slurm::say(line);
        log_event(task, "failed: ", line);
        let_pass(STDERR_FILENO);
    }
    _exit(1);
}

void log_event(const slurm::Task& task, const char* what, const char* more) {
    char line[kLineMaximum + 128];
    snprintf(line, sizeof line, "batchai: job %u, user %u: %s%s", task.job, task.uid, what, more);
    slurm::log_info(line);
}

void set(Line& line, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    // NOLINTNEXTLINE: clang 14 does not see va_start
    vsnprintf(line.text, sizeof line.text, format, arguments);
    va_end(arguments);
}

bool has_failed(const slurm::Task& task, const char* name, int status, const MemoryFile& output,
                int seconds, Line& why) {
    if (status == 0) return false;
    if (status == kNotStarted || status == 127) {
        set(why,
            "batchai: %s: cannot run %s. Install batchai on this node, or correct libexec= in "
            "plugstack.conf",
            task.node, name);
        return true;
    }
    if (status == kTimedOut) {
        set(why, "batchai: %s: %s did not end within %d seconds", task.node, name, seconds);
        return true;
    }
    char* text = output.text();
    const char* found = nullptr;
    bool final = false;
    for (char* line = text ? strtok(text, "\n") : nullptr; line && !final;
         line = strtok(nullptr, "\n")) {
        const bool ours = strncmp(line, "batchai: ", 9) == 0;
        final = ours && !strstr(line, kCancelled);
        make_harmless(line, ours);
        if (ours || !why.logged) found = line;
        why.logged = ours || why.logged;
    }
    if (found)
        set(why, "%s", found);
    else if (status == 128 + SIGTERM)
        set(why,
            "batchai: %s: %s was ended by SIGTERM: the job was cancelled or reached its time limit",
            task.node, name);
    else
        set(why, "batchai: %s: %s was ended by signal %d", task.node, name, status - 128);
    free(text);
    return true;
}

}  // namespace batchai::spank

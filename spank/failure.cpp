// SPDX-License-Identifier: Apache-2.0
#include "spank/failure.hpp"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace batchai::spank {

void fail(const slurm::Task& task, const char* line) {
    if (task.first_on_node) slurm::say(line);
    _exit(1);
}

void failf(const slurm::Task& task, const char* format, ...) {
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);  // NOLINT: clang 14 does not see va_start
    va_end(arguments);
    fail(task, line);
}

void set(Line& line, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line.text, sizeof line.text, format, arguments);  // NOLINT: as above
    va_end(arguments);
}

bool has_failed(const slurm::Task& task, const char* name, int status, const MemoryFile& output,
                int seconds, Line& why) {
    if (status == 0) return false;
    const auto say = [&](const char* format, auto... what) {
        snprintf(why.text, sizeof why.text, format, task.node, what...);  // NOLINT: literals
        return true;
    };
    if (status == kNotStarted || status == 127)
        return say("batchai: %s: %s cannot be run: is batchai installed on this node?", name);
    if (status == kTimedOut)
        return say("batchai: %s: %s did not end within %d seconds", name, seconds);
    char* text = output.text();
    const char* found = nullptr;
    bool final = false;
    for (char* line = text ? strtok(text, "\n") : nullptr; line && !final;
         line = strtok(nullptr, "\n")) {
        const bool ours = strncmp(line, "batchai: ", 9) == 0;
        final = ours && !strstr(line, kCancelled);
        if (ours || !why.logged) found = line;
        why.logged = ours || why.logged;
    }
    if (found)
        snprintf(why.text, sizeof why.text, "%s", found);
    else
        say("batchai: %s: %s was ended by signal %d", name, status - 128);
    free(text);
    return true;
}

}  // namespace batchai::spank

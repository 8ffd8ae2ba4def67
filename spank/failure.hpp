// SPDX-License-Identifier: Apache-2.0
//
// How a task fails on a node: one line, by the first task there, and the end of the task's process.
// That fails the job without harm to the node whatever the plugin's line in plugstack.conf says.
// For task_init only: Slurm's own process still waits to release a task in task_init_privileged,
// and would complain about one that is gone.
#pragma once

#include "spank/process.hpp"
#include "spank/protocol.hpp"
#include "spank/slurm_api.hpp"

namespace batchai::spank {

// A line with the job and its user to the log.
void log_event(const slurm::Task&, const char* what, const char* more = "");

[[noreturn]] void fail(const slurm::Task&, const char* line);
// A failure's line, cut where it is too long.
struct Line {
    char text[kLineMaximum] = {};
    bool logged = false;  // "batchai: ...", of a program of ours, which has logged it too
};
__attribute__((format(printf, 2, 3))) void set(Line&, const char* format, ...);

// Whether one of our programs did not succeed, and why: its own line where it has one. output: what
// it wrote; the line is the first that starts with "batchai: ", else the last. A node that was
// cancelled because another one failed may have written first: its line is the last choice.
bool has_failed(const slurm::Task&, const char* name, int status, const MemoryFile& output,
                int seconds, Line& why);

}  // namespace batchai::spank

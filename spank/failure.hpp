// SPDX-License-Identifier: Apache-2.0
//
// How a task fails on a node: one line, by the first task there, and the end of the task's process.
// That fails the job without harm to the node whatever the plugin's line in plugstack.conf says.
// For task_init_privileged and task_init only.
#pragma once

#include "spank/process.hpp"
#include "spank/protocol.hpp"
#include "spank/slurm_api.hpp"

namespace batchai::spank {

[[noreturn]] void fail(const slurm::Task&, const char* line);
[[noreturn]] __attribute__((format(printf, 2, 3))) void failf(const slurm::Task&,
                                                              const char* format, ...);

// A failure's line, cut where it is too long.
struct Line {
    char text[kLineMaximum];
    bool logged = false;  // "batchai: ...", of a program of ours, which has logged it too
};

// Whether one of our programs did not succeed, and why: its own line where it has one. output: what
// it wrote; the line is the first that starts with "batchai: ", else the last.
bool has_failed(const slurm::Task&, const char* name, int status, const MemoryFile& output,
                int seconds, Line& why);

// The same, failing the task.
void expect_success(const slurm::Task&, const char* name, int status, const MemoryFile& output,
                    int seconds);

}  // namespace batchai::spank

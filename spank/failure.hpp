// SPDX-License-Identifier: Apache-2.0
//
// Fails a task: the first task of the job on the node prints one line, and the task's process ends.
// This fails the job and leaves the node in service, whether the plugin's line in plugstack.conf
// says required or optional. Call in task_init only: in task_init_privileged Slurm still waits for
// the task, and would report one that is gone.
#pragma once

#include "spank/process.hpp"
#include "spank/protocol.hpp"
#include "spank/slurm_api.hpp"

namespace batchai::spank {

// Writes a line with the job and its user to slurmd's log.
void log_event(const slurm::Task&, const char* what, const char* more = "");

[[noreturn]] void fail(const slurm::Task&, const char* line);
// The line of a failure. A line that is too long is cut.
struct Line {
    char text[kLineMaximum] = {};
    bool logged = false;  // one of our programs wrote it ("batchai: ...") and has logged it
};
__attribute__((format(printf, 2, 3))) void set(Line&, const char* format, ...);

// True if one of our programs failed; why is then set. output: what the program wrote. The line is
// its first one that starts with "batchai: ", else its last one. A line about a cancelled
// preparation is used only if there is no other, because another node failed first.
bool has_failed(const slurm::Task&, const char* name, int status, const MemoryFile& output,
                int seconds, Line& why);

}  // namespace batchai::spank

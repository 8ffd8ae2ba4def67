// SPDX-License-Identifier: Apache-2.0
//
// Guard: the process between Slurm (or the root) and the agent. It owns what must not outlive the
// agent, whatever kills it: the agent's directories and all processes below it. Agent and guard
// each watch the other, so killing either one with SIGKILL leaves nothing behind.
#pragma once

#include <string>

namespace batchai::launcher {

struct GuardedDirectories {
    std::string base;  // on /tmp, short: sockets live here
    std::string shm;   // on /dev/shm where there is one
    std::string job;   // given by the root; may be empty
};

// Forks. In the child (the agent) it returns; the parent waits for it, cleans up and exits with the
// agent's exit code.
// job_directory: removed too; may be empty.
GuardedDirectories start_guard(const std::string& job_directory);

void remove(const GuardedDirectories& directories);

}  // namespace batchai::launcher

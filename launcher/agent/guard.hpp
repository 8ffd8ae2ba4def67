// SPDX-License-Identifier: Apache-2.0
//
// Guard: the process between Slurm (or the root) and the agent. It owns what must not outlive the
// agent, whatever kills it: the agent's directories and all processes below it. Agent and guard
// each watch the other, so killing either one with SIGKILL leaves nothing behind. Signals are the
// agent's: the guard passes them on, as Slurm may signal the first process of a task only.
#pragma once

#include <unistd.h>

#include <string>

#include "launcher/common/scratch.hpp"

namespace batchai::launcher {

struct Guarded {
    Scratch scratch;
    std::string job_directory;  // given by the root; may be empty
    pid_t guard = -1;

    std::string server_directory() const { return scratch.directory + "/s"; }
    std::string client_directory() const { return scratch.directory + "/c"; }
    // For shared memory in files.
    std::string memory() const {
        return scratch.memory.empty() ? client_directory() : scratch.memory;
    }
    // orderly: the job is over and the root is there to remove the job's directory when it is done.
    void remove(bool orderly) const;
    bool has_guard() const { return ::getppid() == guard; }
};

// Forks. In the child (the agent of this node) it returns. The parent waits for the agent, says if
// a signal has ended it (launcher/common/death_notice.hpp), cleans up and exits with the agent's
// exit code.
Guarded start_guard(const std::string& node, const std::string& job_directory);

}  // namespace batchai::launcher

// SPDX-License-Identifier: Apache-2.0
//
// Guard: the process between Slurm (or the root) and the agent. It owns the agent's directories and
// all processes below the agent, and removes them however the agent ends. Agent and guard watch
// each other, so a SIGKILL to either one leaves nothing behind. The guard passes signals on to the
// agent, because Slurm may signal only the first process of a task.
#pragma once

#include <unistd.h>

#include <string>

#include "launcher/common/scratch.hpp"

namespace batchai::launcher {

struct Guarded {
    Scratch scratch;
    std::string job_directory;  // from the root; may be empty
    pid_t guard = -1;

    std::string server_directory() const { return scratch.directory + "/s"; }
    std::string client_directory() const { return scratch.directory + "/c"; }
    // The directory for files that serve as shared memory.
    std::string memory() const {
        return scratch.memory.empty() ? client_directory() : scratch.memory;
    }
    // Removes the agent's directories. orderly: the job is over, and the root removes the job's
    // directory.
    void remove(bool orderly) const;
    bool has_guard() const { return ::getppid() == guard; }
};

// Forks and returns in the child, which becomes the node's agent. The parent waits for the agent
// and reports a signal that has ended it (launcher/common/death_notice.hpp). It then cleans up and
// exits with the agent's exit code.
Guarded start_guard(const std::string& node, const std::string& job_directory);

}  // namespace batchai::launcher

// SPDX-License-Identifier: Apache-2.0
//
// Guard: the process between Slurm (or the root) and the agent. It owns the agent's directories and
// all processes below the agent, and removes them however the agent ends. Agent and guard watch
// each other, so a SIGKILL to either one leaves nothing behind. The guard passes signals on to the
// agent, because Slurm may signal only the first process of a task, or only its process group.
#pragma once

#include <unistd.h>

#include <chrono>
#include <map>
#include <string>

#include "launcher/common/scratch.hpp"

namespace batchai::launcher {

class Guarded {
  public:
    Guarded(Scratch own, std::string of_job)
        : scratch(std::move(own)), job_directory(std::move(of_job)) {}

    Scratch scratch;
    std::string job_directory;  // from the root; may be empty
    pid_t guard = ::getpid();
    pid_t starter = ::getppid();  // of the guard: slurmstepd, or the root with --local

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
    // Whether Slurm has sent the signal to each process of the step (proctrack/linuxproc), ranks
    // included: the agent is in a process group of its own, so else the guard alone gets it.
    bool is_for_all(pid_t sender) const { return sender == starter; }
    // Whether the same signal has just come by another way: from Slurm, from the guard, or from the
    // root (kFromRoot).
    static constexpr pid_t kFromRoot = -1;
    bool is_second_copy(int signal, pid_t sender);

  private:
    struct Last {
        pid_t sender = 0;
        std::chrono::steady_clock::time_point time;
    };
    std::map<int, Last> last_;  // by signal
};

// Forks and returns in the child, which becomes the node's agent. The parent waits for the agent
// and reports a signal that has ended it (launcher/common/bootstrap.hpp). It then cleans up and
// exits with the agent's exit code.
// scratch: see Scratch::make().
Guarded start_guard(const std::string& node, const std::string& job_directory,
                    const std::string& scratch);

}  // namespace batchai::launcher

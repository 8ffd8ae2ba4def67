// SPDX-License-Identifier: Apache-2.0
//
// Starters: the processes that start the agents. That is one srun for all nodes of an allocation;
// with --local, each agent is a child process itself. The bootstrap is passed on standard input.
//
// Their standard error is read here. The agents' death notices are removed from it. srun labels the
// agents' lines, so the last one of each agent is known. All other text of srun is kept for a
// failure that it may explain, and the text of local agents is written to the launcher's standard
// error at once. For one thread.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/common/allocation.hpp"
#include "launcher/common/bootstrap.hpp"
#include "launcher/common/event_loop.hpp"
#include "launcher/root/events.hpp"
#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::launcher {

// A child of the root: srun, or a local agent.
struct Starter {
    pid_t pid = -1;        // -1: it has ended
    std::string name;      // for messages
    sys::UniqueFd errors;  // its standard error, with the text of srun or the agents
};

class Starters {
  public:
    Starters(Loop& loop, bool local, RootEvents& events)
        : loop_(loop), local_(local), events_(events) {}

    sys::Result<void> start(const Allocation& allocation, Bootstrap bootstrap);
    // Call it when a child has ended. Returns it, with all of its text read; null: it is another
    // process.
    const Starter* reap(pid_t pid);
    bool all_ended() const;
    bool local() const { return local_; }
    void signal(int signal) const;

    // Reads what is available.
    void catch_up();
    // Prints the kept text, once.
    void say();
    // What Slurm has said about the agents' step: its number, such as "7.0", and when that was
    // read.
    struct CancelledStep {
        std::string number;
        double time = 0;
    };
    const std::optional<CancelledStep>& cancelled_step() const { return cancelled_step_; }
    // The last line of an agent's text; empty: there is none.
    std::string last_line(int task) const;
    // The kept text explains the job's failure.
    void explain_failure() { explains_ = true; }
    bool explains() const { return explains_; }

  private:
    struct Stream {
        std::unique_ptr<Poll> poll;  // null after the end of the text
        std::string line;            // an unfinished line
    };
    void add(Starter starter);
    void read(Stream& stream);
    void take(std::string line);

    Loop& loop_;
    const bool local_;
    RootEvents& events_;
    std::vector<Starter> starters_;
    std::vector<std::unique_ptr<Stream>> streams_;
    std::string kept_;
    std::map<int, std::string> last_lines_;  // of agents that srun has started
    std::optional<CancelledStep> cancelled_step_;
    bool explains_ = false;
};

// The number of the step in a line of slurmstepd about a step that a user has cancelled: "*** STEP
// 7.0 ON n1 CANCELLED AT 2026-01-01T00:00:00 ***". Empty: it is another line.
std::string cancelled_step_in(std::string_view line);

// What srun says of agents that have ended or that Slurm could not start, such as "srun: error: n2:
// task 1: Exited with exit code 127". Of several, the first one. Nothing: it is another line.
std::optional<EndedAgent> ended_agent_in(const std::string& line);

// Removes leftovers of killed agents from the nodes that answer in time.
void sweep_nodes(const Allocation& allocation);

// The environment of this process; in a heterogeneous job, reduced to the allocation's component.
env::Environment environment_of_job(const Allocation& allocation);

// The environment for srun, without variables that srun would take for options and that the user
// meant for the job's own steps.
env::Environment srun_environment(env::Environment environment);

}  // namespace batchai::launcher

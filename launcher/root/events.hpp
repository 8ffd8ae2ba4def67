// SPDX-License-Identifier: Apache-2.0
//
// RootEvents: what the parts of the root tell the coordinator.
#pragma once

#include <string>
#include <vector>

#include "launcher/common/bootstrap.hpp"
#include "launcher/common/channel.hpp"

namespace batchai::launcher {

// An agent that has ended or could not be started, in srun's words, which name its task, its node
// or both.
struct EndedAgent {
    int task = -1;
    std::string node;
    std::string how;  // "exit code 127", "Killed"
};

class RootEvents {
  public:
    // Nodes: the agents of all nodes have connected.
    virtual void on_connected() = 0;
    // Nodes: a message of a connected agent.
    virtual void on_message(int node, Kind kind, Reader& reader) = 0;
    virtual void on_agent_lost(int node) = 0;
    // Nodes: the start waits for the agents of these nodes. lost: it has waited long enough.
    virtual void on_late(const std::vector<int>& nodes, bool lost) = 0;
    // Starters: a guard's notice.
    virtual void on_agent_died(const DeathNotice& notice) = 0;
    // Starters: srun's notice.
    virtual void on_agent_ended(const EndedAgent& agent) = 0;
    // JobOutput: everything so far is written.
    virtual void on_written() = 0;
    // A failure that is not a rank's.
    virtual void on_failure(const std::string& line) = 0;

  protected:
    ~RootEvents() = default;
};

}  // namespace batchai::launcher

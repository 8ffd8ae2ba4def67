// SPDX-License-Identifier: Apache-2.0
//
// AgentEvents: what the agent's parts tell it. Agent implements it, so the effect of each event is
// in agent.cpp. All calls come on the event loop's thread.
#pragma once

#include <sys/types.h>

#include <string>

#include "launcher/common/message.hpp"
#include "launcher/common/message_pmix.hpp"

namespace batchai::launcher {

class AgentEvents {
  public:
    // Ranks: a rank's process has ended, and its last output was read.
    virtual void rank_ended(RankEnd end) = 0;
    // Ranks: a child of the agent that is not a rank has ended.
    virtual void child_ended(pid_t pid, int status) = 0;
    // Ranks: all ranks and their processes have ended, and all output was passed on.
    virtual void ranks_done() = 0;
    // Ranks: a file has written all its output.
    virtual void output_idle() = 0;
    // PmixHost: the end of a rank, with its PMIx state.
    virtual void rank_judged(RankEnd end) = 0;
    // PmixHost: the job cannot go on.
    virtual void fail(const AgentError& error) = 0;
    // Branch: the parent in the tree is connected.
    virtual void parent_connected() = 0;
    // Branch: the complete result of a fence.
    virtual void fence_done(FenceDone done) = 0;
    // Branch: the reason why fences fail.
    virtual void branch_broken(const std::string& why) = 0;

  protected:
    ~AgentEvents() = default;
};

}  // namespace batchai::launcher

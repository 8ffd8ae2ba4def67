// SPDX-License-Identifier: Apache-2.0
//
// RankWatch: reports the state of the node's ranks when the root asks. It also reports to the root
// when the ranks stop or resume making progress.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "launcher/agent/pmix_host.hpp"
#include "launcher/agent/progress_pages.hpp"
#include "launcher/agent/ranks.hpp"
#include "launcher/agent/stacks.hpp"
#include "launcher/common/channel.hpp"
#include "launcher/env/env.hpp"

namespace batchai::launcher {

class RankWatch {
  public:
    // The agent's objects. They outlive this object.
    struct Node {
        const env::Environment& environment;  // its PATH is searched for a debugger
        const Ranks& ranks;
        const PmixHost& pmix;
        Channel& root;
    };
    // pages: a directory for the ranks' progress (progress_pages.hpp).
    RankWatch(Loop& loop, const std::string& pages, Node node);

    // Call it before the rank starts.
    void offer(int rank, env::Environment& environment) { pages_.offer(rank, environment); }
    // From now on, reports to the root when no rank has made progress for quiet_after; 0: no
    // reports.
    void start(std::chrono::milliseconds quiet_after);

    std::vector<RankState> inspect();
    // Sends the rank's stack when it is known.
    void read_stack(int rank);
    // A child of the agent has ended; it may be a debugger.
    void reap(pid_t pid) { stacks_.reap(pid); }

  private:
    pid_t process_of(int rank) const;
    void look();

    Loop& loop_;
    Node node_;
    ProgressPages pages_;
    StackReader stacks_;
    std::unique_ptr<Timer> timer_;              // null before the ranks start
    std::chrono::milliseconds quiet_after_{0};  // 0: no reports
    ActiveClock still_;                         // time since a look last saw progress of any rank
    bool quiet_ = false;                        // reported
};

}  // namespace batchai::launcher

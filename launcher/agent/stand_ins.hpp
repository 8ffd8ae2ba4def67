// SPDX-License-Identifier: Apache-2.0
//
// StandIns: take ranks that have left PMIx and ended out of the PMIx library's count of a node's
// processes, so that no fence of the node waits for them.
//
// The library goes on counting a rank that has called PMIx_Finalize, because its next program may
// call PMIx_Init; a host cannot tell it that none will. It takes a process out when its connection
// is lost. So a stand-in (stand_in_main) connects in the rank's name and exits without leaving. It
// runs only if other ranks of the node still use PMIx half a second later: usually all leave
// together. Then the library can forget the rank.
//
// At most kMost run at once. One that has not ended within its limit is killed, which ends its
// connection too. For one that fails another one is started, twice at most.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "launcher/common/event_loop.hpp"

namespace batchai::launcher {

class StandIns {
  public:
    static constexpr int kMost = 8;
    static constexpr std::chrono::seconds kLimit{10};

    struct Callbacks {
        std::function<bool()> needed;          // a rank of the node uses PMIx
        std::function<pid_t(int rank)> start;  // 0: cannot
        std::function<void(pid_t pid)> kill;
        std::function<std::vector<std::uint64_t>()>
            unheard;  // closed by clients, not by the library
        std::function<void(int rank)> forget;
    };
    StandIns(Loop& loop, Callbacks callbacks, std::chrono::milliseconds limit = kLimit);

    // The rank has left PMIx, which it had used and not PMI-1 alone, and its process has ended.
    void add(int rank);
    // A child of the agent has ended; failed: not with exit code 0.
    void reap(pid_t pid, bool failed);
    // Whether what connects in the rank's name is its stand-in.
    bool stands_for(int rank) const { return states_.contains(rank); }
    // No more are started.
    void stop() { again_.stop(); }

  private:
    enum class State { waiting, running, ended, forgotten };
    struct StandIn {
        State state = State::waiting;
        pid_t pid = 0;
        int failures = 0;
        std::chrono::steady_clock::time_point deadline;
    };
    void look();
    void start(int rank, StandIn& one);

    Callbacks callbacks_;
    const std::chrono::milliseconds limit_;
    std::map<int, StandIn> states_;  // by rank
    Timer again_;
};

// `batchai-launch --stand-in`: a process in the place of a rank, with the rank's PMIx environment.
int stand_in_main();

}  // namespace batchai::launcher

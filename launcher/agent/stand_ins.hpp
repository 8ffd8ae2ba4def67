// SPDX-License-Identifier: Apache-2.0
//
// StandIns: take ranks that have left PMIx and ended out of the PMIx library's count of a node's
// processes, so that no fence of the node waits for them.
//
// After PMIx_Finalize the library still counts a rank, because the rank's next program may call
// PMIx_Init. No call of a host removes the rank. The library removes a process when its connection
// is lost. So a stand-in (stand_in_main) connects as the rank and exits without leaving PMIx. It
// runs only if other ranks of the node still use PMIx half a second later, because usually all
// leave together. Then the library can forget the rank.
//
// At most kMost stand-ins run at once. A stand-in that exceeds its limit is killed, which ends its
// connection too. A stand-in that fails is started again, at most twice.
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
        std::function<pid_t(int rank)> start;  // 0: it cannot be started
        std::function<void(pid_t pid)> kill;
        std::function<std::vector<std::uint64_t>()>
            unheard;  // connections that clients have closed and the library has not
        std::function<void(int rank)> forget;
    };
    StandIns(Loop& loop, Callbacks callbacks, std::chrono::milliseconds limit = kLimit);

    // The rank's process has ended, and the rank has left PMIx (after using it, not only PMI-1).
    void add(int rank);
    // A child of the agent has ended. failed: its exit code is not 0.
    void reap(pid_t pid, bool failed);
    // Whether a client that connects as the rank is the rank's stand-in.
    bool stands_for(int rank) const { return states_.contains(rank); }
    // Starts no more stand-ins.
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

// `batchai-launch --stand-in`: connects with the environment of a rank, and exits.
int stand_in_main();

}  // namespace batchai::launcher

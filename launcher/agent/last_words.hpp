// SPDX-License-Identifier: Apache-2.0
//
// LastWords: delays the judgement of a rank's end until the PMIx library has read everything that
// the rank had sent. Only then the agent knows whether the rank has left PMIx: PMIx_Finalize may
// still be in a socket, or in the queue of the event loop.
//
// PMI-1 does not need this class, because the agent reads that socket itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <vector>

#include "launcher/common/event_loop.hpp"
#include "launcher/common/message.hpp"

namespace batchai::launcher {

class LastWords {
  public:
    struct Callbacks {
        // Connections that clients have closed and from which the library has not read all data.
        std::function<std::vector<std::uint64_t>()> unheard;
        // Handles the library's requests. The end is not judged yet, so the node is not done before
        // the root knows the end.
        std::function<void()> hear;
        std::function<void(RankEnd)> judge;
    };
    LastWords(Loop& loop, Callbacks callbacks);

    // Judges the ends in order; at once if no connection has unread data.
    void add(RankEnd end);
    bool empty() const { return waiting_.empty(); }

  private:
    struct Waiting {
        RankEnd end;
        std::vector<std::uint64_t> unheard;  // when the rank ended; any of them may be the rank's
        std::chrono::steady_clock::time_point deadline;
    };
    void judge_heard();

    Callbacks callbacks_;
    std::list<Waiting> waiting_;
    Timer again_;
};

}  // namespace batchai::launcher

// SPDX-License-Identifier: Apache-2.0
//
// Inspection: asks all ranks for their state. It is started by the user's SIGQUIT, by a timeout
// that is about to end the ranks, or by a stall: no rank makes progress and some wait. First it
// collects all answers, then it prints the waiting ranks and those that they wait for, then the
// stacks of a few.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/common/event_loop.hpp"
#include "launcher/common/message.hpp"
#include "launcher/root/hang.hpp"

namespace batchai::launcher {

class Inspection {
  public:
    struct Callbacks {
        std::function<void(int node, const StackQuery&)> ask_for_stack;
        std::function<void()> on_over;  // the inspection is complete
    };
    // map: the job's. It must be complete when an inspection starts.
    Inspection(Loop& loop, const RankMap& map, Callbacks callbacks);

    bool under_way() const { return under_way_.has_value(); }
    // Call it when every node has been asked. why: printed before the first line. then: called when
    // the inspection is complete, unless it is stopped.
    void start(const std::string& why, std::size_t nodes, std::function<void()> then);
    // Replaces `then` of the running inspection.
    void then(std::function<void()> then);
    void on_inspected(Inspected inspected);
    void on_stack(const Stack& stack);
    void stop();

  private:
    void tell();
    void tell_processes(const HangReport& hang) const;
    void end();

    const RankMap& map_;
    Callbacks callbacks_;
    Timer answers_;
    struct UnderWay {
        std::string why;
        std::function<void()> then;
        std::size_t unanswered = 0;
        std::vector<RankState> ranks;
        bool stacks = false;  // it waits for stacks
    };
    std::optional<UnderWay> under_way_;
};

}  // namespace batchai::launcher

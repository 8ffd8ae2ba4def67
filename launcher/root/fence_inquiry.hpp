// SPDX-License-Identifier: Apache-2.0
//
// FenceInquiry: finds the nodes for which a fence waits. The root knows which of its children in
// the tree have not given their data, and asks the nodes below them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/common/message.hpp"
#include "launcher/root/relay.hpp"

namespace batchai::launcher {

class FenceInquiry {
  public:
    struct Callbacks {
        std::function<void(int node, const FenceQuery&)> ask;
        std::function<std::string(const std::vector<int>& nodes)> names;
    };
    FenceInquiry(const Relay& relay, Callbacks callbacks)
        : relay_(relay), callbacks_(std::move(callbacks)) {}

    // Called at intervals: asks once, if the same fence was unfinished at the last call.
    void look();
    // Asks now, if a fence is unfinished.
    void ask();
    void on_answer(int node, const FenceAnswer& answer);

  private:
    const Relay& relay_;
    Callbacks callbacks_;
    std::optional<FenceId> seen_;  // unfinished at the last call
    bool asked_ = false;           // about that fence
    struct Question {
        FenceId fence;
        std::size_t unanswered = 0;
        std::vector<int> missing;
    };
    std::optional<Question> question_;
};

}  // namespace batchai::launcher

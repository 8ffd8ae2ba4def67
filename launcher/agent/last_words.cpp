// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/last_words.hpp"

#include <algorithm>
#include <utility>

namespace batchai::launcher {
namespace {

constexpr std::chrono::milliseconds kLookAgain{2};
// Time limit for the PMIx library to read. On a busy node its thread may take seconds.
constexpr std::chrono::seconds kPatience{10};

}  // namespace

LastWords::LastWords(Loop& loop, Callbacks callbacks)
    : callbacks_(std::move(callbacks)), again_(loop, [this] { judge_heard(); }) {}

void LastWords::add(RankEnd end) {
    // If the root has asked for the end, it is not a failure. The rank's PMIx state then does not
    // matter.
    auto unheard = end.asked ? std::vector<std::uint64_t>() : callbacks_.unheard();
    waiting_.push_back(
        {std::move(end), std::move(unheard), std::chrono::steady_clock::now() + kPatience});
    if (!again_.active()) judge_heard();
}

void LastWords::judge_heard() {
    const auto now = std::chrono::steady_clock::now();
    const auto unheard = callbacks_.unheard();
    const auto is_heard = [&](const Waiting& waiting) {
        return now >= waiting.deadline ||
               std::none_of(waiting.unheard.begin(), waiting.unheard.end(),
                            [&](std::uint64_t connection) {
                                return std::find(unheard.begin(), unheard.end(), connection) !=
                                       unheard.end();
                            });
    };
    while (!waiting_.empty() && is_heard(waiting_.front())) {
        callbacks_.hear();
        RankEnd end = std::move(waiting_.front().end);
        waiting_.pop_front();
        callbacks_.judge(std::move(end));
    }
    waiting_.empty() ? again_.stop() : again_.start(kLookAgain);
}

}  // namespace batchai::launcher

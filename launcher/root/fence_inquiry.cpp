// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/fence_inquiry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "launcher/common/say.hpp"

namespace batchai::launcher {

void FenceInquiry::look() {
    const auto fence = relay_.missing();
    if (fence && seen_ == fence->id) {
        if (!std::exchange(asked_, true)) ask();
        return;
    }
    asked_ = false;
    seen_ = fence ? std::optional(fence->id) : std::nullopt;
}

// A child of the root that has not given its data may wait for any node below it.
void FenceInquiry::ask() {
    const auto fence = relay_.missing();
    if (!fence) return;
    question_ = {fence->id, fence->nodes.size(), {}};
    for (int node : fence->nodes) callbacks_.ask(node, FenceQuery{fence->id});
}

void FenceInquiry::on_answer(int node, const FenceAnswer& answer) {
    if (!question_ || question_->fence != answer.id) return;
    if (!answer.given) question_->missing.push_back(node);
    if (--question_->unanswered > 0) return;
    std::sort(question_->missing.begin(), question_->missing.end());
    if (!question_->missing.empty()) {
        say(fmt::format("a fence (start-up, barrier or end) waits for ranks on {}",
                        callbacks_.names(question_->missing)));
    }
    question_.reset();
}

}  // namespace batchai::launcher

// SPDX-License-Identifier: Apache-2.0
//
// Coordinator, where somebody is late: progress at a start, who a stalled start or fence waits for.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "launcher/common/say.hpp"
#include "launcher/root/coordinator.hpp"

namespace batchai::launcher {
namespace {

constexpr int kStallsOfARestart = 6;  // then a node that does not answer is lost

}  // namespace

std::string Coordinator::names(const std::vector<int>& nodes) const {
    std::vector<std::string> list;
    for (int node : nodes) list.push_back(session_.allocation.nodes[node]);
    if (list.size() > 8) {
        const auto more = list.size() - 8;
        list.resize(8);
        list.push_back(fmt::format("and {} more", more));
    }
    return fmt::format("{}", fmt::join(list, " "));
}

// For a user at a terminal, until the ranks start.
void Coordinator::show_progress() {
    if (state_ == State::starting) {
        return status_.show(fmt::format("starting: {} of {} nodes", greeted_, agents_.size()));
    }
    const auto prepared = std::count_if(agents_.begin(), agents_.end(), [](const Agent& agent) {
        return agent.prepared.has_value();
    });
    if (state_ == State::running && prepared < static_cast<long>(agents_.size())) {
        return status_.show(fmt::format("preparing: {} of {} nodes", prepared, agents_.size()));
    }
    status_.clear();
    progress_.stop();
}

void Coordinator::on_stall() {
    status_.clear();
    if (state_ == State::starting) {
        std::vector<int> missing;
        for (int node = 0; node < static_cast<int>(agents_.size()); ++node) {
            if (agents_[node].peer == nullptr) missing.push_back(node);
        }
        say(fmt::format("still waiting for {} of {} agents: {}", missing.size(), agents_.size(),
                        names(missing)));
        starter_words_.say();
        if (session_.attempt == 0 || ++stalls_ < kStallsOfARestart) return;
        for (int node : missing) lost_nodes_.push_back(session_.allocation.nodes[node]);
        fail("lost " + names(missing) + ": no agent within a minute", 125, Cause::node);
        return;
    }
    const auto fence = relay_.missing();
    // A fence is stalled when it was under way at the last look; said once.
    if (fence && stalled_fence_ == fence->id) {
        if (!std::exchange(stall_said_, true)) ask_for_fence();
        return;
    }
    stall_said_ = false;
    stalled_fence_ = fence ? std::optional(fence->id) : std::nullopt;
}

// Below a child of the root that has not given to the fence, some nodes may have.
void Coordinator::ask_for_fence() {
    const auto fence = relay_.missing();
    if (!fence) return;
    question_ = {fence->id, fence->nodes.size(), {}};
    for (int node : fence->nodes) agents_[node].peer->channel->send(FenceQuery{fence->id});
}

void Coordinator::on_fence_answer(int node, const FenceAnswer& answer) {
    if (!question_ || question_->fence != answer.id) return;
    if (!answer.given) question_->missing.push_back(node);
    if (--question_->unanswered > 0) return;
    std::sort(question_->missing.begin(), question_->missing.end());
    if (!question_->missing.empty()) {
        say(fmt::format("a fence (start-up, barrier or end) waits for ranks on {}",
                        names(question_->missing)));
    }
    question_.reset();
}

}  // namespace batchai::launcher

// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/inspection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "launcher/common/say.hpp"

namespace batchai::launcher {
namespace {

constexpr int kStates = 64;  // most processes in one report
constexpr std::chrono::seconds kAnswers{5}, kStacks{15};

}  // namespace

Inspection::Inspection(Loop& loop, const RankMap& map, Callbacks callbacks)
    : map_(map), callbacks_(std::move(callbacks)), answers_(loop, [this] { tell(); }) {}

void Inspection::start(const std::string& why, std::size_t nodes, std::function<void()> then) {
    under_way_ = UnderWay{why, std::move(then), nodes, {}, false};
    answers_.start(kAnswers);
}

void Inspection::then(std::function<void()> then) {
    under_way_->then = std::move(then);
}

void Inspection::stop() {
    answers_.stop();
    under_way_.reset();
}

void Inspection::on_inspected(Inspected inspected) {
    if (!under_way_ || under_way_->stacks) return;
    std::move(inspected.ranks.begin(), inspected.ranks.end(),
              std::back_inserter(under_way_->ranks));
    if (--under_way_->unanswered == 0) tell();
}

// Also called if some agents did not answer in time.
void Inspection::tell() {
    if (!under_way_) return;
    if (under_way_->stacks) return end();
    std::erase_if(under_way_->ranks,
                  [this](const RankState& s) { return s.rank < 0 || s.rank >= map_.size(); });
    const HangReport hang = hang_report(under_way_->ranks, map_);
    std::string text;
    for (const std::string& line : hang.lines) text += (text.empty() ? "" : "\n") + line;
    if (!text.empty()) say(under_way_->why + text);
    tell_processes(hang);
    under_way_->stacks = true;
    under_way_->unanswered = hang.interesting.size();
    if (hang.interesting.empty()) return end();
    for (const int rank : hang.interesting) {
        callbacks_.ask_for_stack(map_.node_of(rank), StackQuery{rank});
    }
    answers_.start(kStacks);
}

// If ranks use the library, the report already has most facts.
void Inspection::tell_processes(const HangReport& hang) const {
    std::vector<RankState> ranks = under_way_->ranks;
    std::erase_if(ranks, [&](const RankState& state) {
        return state.progress.stage != RankProgress::Stage::none &&
               std::count(hang.interesting.begin(), hang.interesting.end(), state.rank) == 0;
    });
    std::sort(ranks.begin(), ranks.end(),
              [](const RankState& left, const RankState& right) { return left.rank < right.rank; });
    int said = 0;
    for (const RankState& state : ranks) {
        if (said++ == kStates) {
            return say(fmt::format("and {} more ranks", ranks.size() - kStates));
        }
        say(fmt::format("rank {} on {}, {}", state.rank, map_.nodes[map_.node_of(state.rank)],
                        state.text));
    }
}

void Inspection::on_stack(const Stack& stack) {
    if (!under_way_ || !under_way_->stacks || stack.rank < 0 || stack.rank >= map_.size()) return;
    if (!stack.lines.empty()) {
        std::string text =
            fmt::format("rank {} on {}, process {}, stack ({}):", stack.rank,
                        map_.nodes[map_.node_of(stack.rank)], stack.pid, stack.source);
        for (const std::string& line : stack.lines) text += "\n  " + line;
        say(text);
    }
    if (--under_way_->unanswered == 0) end();
}

void Inspection::end() {
    const std::function<void()> then = std::move(under_way_->then);
    stop();
    if (then) then();
    callbacks_.on_over();
}

}  // namespace batchai::launcher

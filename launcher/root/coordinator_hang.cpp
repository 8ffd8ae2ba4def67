// SPDX-License-Identifier: Apache-2.0
//
// Coordinator, where ranks are asked what they are doing: by the user, before a time-out ends them,
// or because none of them makes progress while some wait. First come all answers, then who waits
// for whom, then the stacks of a few.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "launcher/common/say.hpp"
#include "launcher/root/coordinator.hpp"
#include "launcher/root/hang.hpp"

namespace batchai::launcher {
namespace {

constexpr int kStates = 64;  // processes that are told of in one go
constexpr std::chrono::seconds kAnswers{5}, kStacks{15};

}  // namespace

// then: when everything is said, unless the job has ended by then.
void Coordinator::inspect(const std::string& why, std::function<void()> then) {
    if (report_) {
        if (then) report_->then = std::move(then);
        return;
    }
    if (state_ != State::running) {
        if (then) then();
        return;
    }
    report_ = Report{why, std::move(then), agents_.size(), {}, false};
    to_all(Inspect{});
    if (why.empty()) ask_for_fence();
    answers_.start(kAnswers);
}

void Coordinator::on_inspected(Inspected inspected) {
    if (!report_ || report_->stacks) return;
    std::move(inspected.ranks.begin(), inspected.ranks.end(), std::back_inserter(report_->ranks));
    if (--report_->unanswered == 0) tell_report();
}

// Also when some have not answered in time.
void Coordinator::tell_report() {
    if (!report_) return;
    if (report_->stacks) return end_report();
    std::erase_if(report_->ranks,
                  [this](const RankState& s) { return s.rank < 0 || s.rank >= map_.size(); });
    const HangReport hang = hang_report(report_->ranks, map_);
    std::string text;
    for (const std::string& line : hang.lines) text += (text.empty() ? "" : "\n") + line;
    if (!text.empty()) say(report_->why + text);
    tell_processes(hang);
    report_->stacks = true;
    report_->unanswered = hang.interesting.size();
    if (hang.interesting.empty()) return end_report();
    for (const int rank : hang.interesting) {
        agents_[map_.node_of(rank)].peer->channel->send(StackQuery{rank});
    }
    answers_.start(kStacks);
}

// Of who uses the library most is said already.
void Coordinator::tell_processes(const HangReport& hang) const {
    std::vector<RankState> ranks = report_->ranks;
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

void Coordinator::on_stack(const Stack& stack) {
    if (!report_ || !report_->stacks || stack.rank < 0 || stack.rank >= map_.size()) return;
    if (!stack.lines.empty()) {
        std::string text =
            fmt::format("rank {} on {}, process {}, stack ({}):", stack.rank,
                        map_.nodes[map_.node_of(stack.rank)], stack.pid, stack.source);
        for (const std::string& line : stack.lines) text += "\n  " + line;
        say(text);
    }
    if (--report_->unanswered == 0) end_report();
}

void Coordinator::end_report() {
    answers_.stop();
    const std::function<void()> then = std::move(report_->then);
    report_.reset();
    if (then) then();
    check_quiet();
}

void Coordinator::on_quiet(int node, const Quiet& quiet) {
    agents_[node].quiet = quiet;
    if (!quiet.quiet) hang_said_ = false;
    check_quiet();
}

// All nodes are quiet, and somebody waits: said once, until something moves.
void Coordinator::check_quiet() {
    if (hang_said_ || report_ || state_ != State::running) return;  // end_report() looks again
    const auto is_quiet = [](const Agent& agent) { return agent.done || agent.quiet.quiet; };
    const auto waits = [](const Agent& agent) { return !agent.done && agent.quiet.waiting; };
    if (std::all_of(agents_.begin(), agents_.end(), is_quiet) &&
        std::any_of(agents_.begin(), agents_.end(), waits)) {
        hang_said_ = true;
        inspect(fmt::format("no rank has made progress for {:g} s: ", session_.hang_report));
    }
}

}  // namespace batchai::launcher

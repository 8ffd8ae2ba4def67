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
constexpr std::chrono::seconds kFences{10};  // between two looks at the fences

}  // namespace

Inspection::Inspection(Loop& loop, Nodes& nodes, const Relay& relay, const RankMap& map,
                       double hang_report)
    : nodes_(nodes),
      relay_(relay),
      map_(map),
      hang_report_(hang_report),
      answers_(loop, [this] { tell(); }),
      fences_(loop, [this] { look_at_fences(); }),
      progress_(nodes.size(), Quiet::Progress::moving) {}

void Inspection::begin() {
    running_ = true;
    fences_.start(kFences, kFences);
}

void Inspection::job_ends() {
    running_ = false;
    answers_.stop();
    under_way_.reset();
}

void Inspection::stop() {
    job_ends();
    fences_.stop();
}

void Inspection::ask() {
    if (!running_) say("no report: the ranks have not started, or the job ends");
    ask([] { say("end of the report"); });
}

void Inspection::ask(const std::string& why, std::function<void()> then) {
    if (under_way_) {
        under_way_->then = [first = std::move(under_way_->then), second = std::move(then)] {
            if (first) first();
            if (second) second();
        };
        return;
    }
    if (!running_) {
        if (then) then();
        return;
    }
    nodes_.send_all(Inspect{});
    if (why.empty()) ask_about_fence();
    under_way_ = UnderWay{why, std::move(then), static_cast<std::size_t>(nodes_.size()), {}, false};
    answers_.start(kAnswers);
}

bool Inspection::on_message(int node, Kind kind, Reader& reader) {
    if (Inspected inspected; kind == Kind::inspected && decode(reader, inspected)) {
        on_inspected(std::move(inspected));
    } else if (Stack stack; kind == Kind::stack && decode(reader, stack)) {
        on_stack(stack);
    } else if (Quiet quiet; kind == Kind::quiet && decode(reader, quiet)) {
        on_quiet(node, quiet.progress);
    } else if (FenceAnswer answer; kind == Kind::fence_answer && decode(reader, answer)) {
        on_fence_answer(node, answer);
    } else {
        return false;
    }
    return true;
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
        nodes_.send(map_.node_of(rank), StackQuery{rank});
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
        say(fmt::format("rank {} on {}, {}", map_.name(state.rank),
                        map_.nodes[map_.node_of(state.rank)], state.text));
    }
}

void Inspection::on_stack(const Stack& stack) {
    if (!under_way_ || !under_way_->stacks || stack.rank < 0 || stack.rank >= map_.size()) return;
    if (!stack.lines.empty()) {
        std::string text =
            fmt::format("rank {} on {}, process {}, stack ({}):", map_.name(stack.rank),
                        map_.nodes[map_.node_of(stack.rank)], stack.pid, stack.source);
        for (const std::string& line : stack.lines) text += "\n  " + line;
        say(text);
    }
    if (--under_way_->unanswered == 0) end();
}

void Inspection::end() {
    const std::function<void()> then = std::move(under_way_->then);
    answers_.stop();
    under_way_.reset();
    if (then) then();
    check_quiet();
}

// ---- stalls -------------------------------------------------------------------------------------

void Inspection::on_quiet(int node, Quiet::Progress progress) {
    progress_[node] = progress;
    if (progress == Quiet::Progress::moving) hang_said_ = false;
    check_quiet();
}

// Reports that no node makes progress and that a rank waits, at most once per stall. After an
// inspection it checks again.
void Inspection::check_quiet() {
    if (hang_said_ || under_way_ || !running_) return;
    bool waits = false;
    for (int node = 0; node < nodes_.size(); ++node) {
        if (nodes_[node].done) continue;
        if (progress_[node] == Quiet::Progress::moving) return;
        waits = waits || progress_[node] == Quiet::Progress::waiting;
    }
    if (!waits) return;
    hang_said_ = true;
    ask(fmt::format("no rank has made progress for {:g} s: ", hang_report_), {});
}

// ---- fences -------------------------------------------------------------------------------------

// Asks once, if the same fence was unfinished at the last look.
void Inspection::look_at_fences() {
    const auto fence = relay_.missing();
    if (fence && seen_ == fence->id) {
        if (!std::exchange(asked_, true)) ask_about_fence();
        return;
    }
    asked_ = false;
    seen_ = fence ? std::optional(fence->id) : std::nullopt;
}

// A child of the root that has not given its data may wait for any node below it.
void Inspection::ask_about_fence() {
    const auto fence = relay_.missing();
    if (!fence) return;
    question_ = {fence->id, fence->nodes.size(), {}};
    for (int node : fence->nodes) nodes_.send(node, FenceQuery{fence->id});
}

void Inspection::on_fence_answer(int node, const FenceAnswer& answer) {
    if (!question_ || question_->fence != answer.id) return;
    if (!answer.given) question_->missing.push_back(node);
    if (--question_->unanswered > 0) return;
    std::sort(question_->missing.begin(), question_->missing.end());
    if (!question_->missing.empty()) {
        say(fmt::format("a fence (start-up, barrier or end) waits for ranks on {}",
                        nodes_.names(question_->missing)));
    }
    question_.reset();
}

}  // namespace batchai::launcher

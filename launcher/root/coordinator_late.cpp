// SPDX-License-Identifier: Apache-2.0
//
// Coordinator, for late nodes and ranks: the progress of a start, nodes that a stalled start waits
// for, and ranks that make no progress.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "launcher/common/say.hpp"
#include "launcher/root/coordinator.hpp"

namespace batchai::launcher {
namespace {

constexpr int kStallsOfARestart = 6;  // then a silent node counts as lost

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

// Shows a status line to a user at a terminal until the ranks start.
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
        fail("lost " + names(missing) + ": no agent within a minute", kOwnFailure, Cause::node);
        return;
    }
    fence_inquiry_.look();
}

void Coordinator::inspect(const std::string& why, std::function<void()> then) {
    if (inspection_.under_way()) {
        if (then) inspection_.then(std::move(then));
        return;
    }
    if (state_ != State::running) {
        if (then) then();
        return;
    }
    to_all(Inspect{});
    if (why.empty()) fence_inquiry_.ask();
    inspection_.start(why, agents_.size(), std::move(then));
}

void Coordinator::on_quiet(int node, Quiet::Progress progress) {
    agents_[node].progress = progress;
    if (progress == Quiet::Progress::moving) hang_said_ = false;
    check_quiet();
}

// Reports that no node makes progress and that a rank waits, at most once per stall. After an
// inspection it checks again.
void Coordinator::check_quiet() {
    if (hang_said_ || inspection_.under_way() || state_ != State::running) return;
    const auto is_quiet = [](const Agent& agent) {
        return agent.done || agent.progress != Quiet::Progress::moving;
    };
    const auto waits = [](const Agent& agent) {
        return !agent.done && agent.progress == Quiet::Progress::waiting;
    };
    if (std::all_of(agents_.begin(), agents_.end(), is_quiet) &&
        std::any_of(agents_.begin(), agents_.end(), waits)) {
        hang_said_ = true;
        inspect(
            fmt::format("no rank has made progress for {:g} s: ", session_.settings.hang_report));
    }
}

}  // namespace batchai::launcher

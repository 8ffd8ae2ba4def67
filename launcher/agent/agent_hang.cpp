// SPDX-License-Identifier: Apache-2.0
//
// Agent, where it watches: what the ranks are doing, for the root that asks, and whether they still
// make progress, which the root is told when that changes.
#include <fmt/format.h>

#include <algorithm>

#include "launcher/agent/agent.hpp"
#include "launcher/agent/rank_state.hpp"
#include "launcher/common/processes.hpp"

namespace batchai::launcher {

using std::chrono::milliseconds;

namespace {

// Between two looks at the ranks' pages.
constexpr milliseconds kWatch{1000}, kLeastWatch{50};

}  // namespace

// The one that uses the library, which a script may have started, or else the one that works.
pid_t Agent::process_of(int rank) const {
    const pid_t first = ranks_->process(rank);
    const pid_t user = pages_.process(rank);
    return user > 0 && is_below(user, first) ? user : working_process(first);
}

std::vector<RankState> Agent::inspect() {
    if (watch_) watch();
    std::vector<RankState> states;
    for (const int rank : ranks_->all_running()) {
        const pid_t pid = process_of(rank);
        RankState state;
        state.rank = rank;
        state.text = fmt::format("process {}: {}; nothing written for {:.0f} s", pid,
                                 process_state(pid), ranks_->silent(rank));
        state.stopped = process_letter(pid) == 'T';
        state.progress = pages_.progress(rank);
        const auto pmix = pmix_states_.find(rank);
        if (pmix == pmix_states_.end()) {
            state.text += "; no PMIx_Init so far";
        } else if (pmix->second == RankEnd::Pmix::left) {
            state.text += "; out of PMIx_Finalize";
        }
        states.push_back(std::move(state));
    }
    return states;
}

void Agent::read_stack(int rank) {
    if (ranks_->process(rank) == 0) {
        root_->send(Stack{rank, 0, {}, {}});
    } else {
        stacks_.read(rank, process_of(rank), pages_.stack_file(rank));
    }
}

void Agent::start_watch() {
    const auto limit = quiet_limit_ = milliseconds(static_cast<long>(job_.quiet_after * 1000));
    const auto period = limit.count() == 0 ? kWatch : std::clamp(limit / 4, kLeastWatch, kWatch);
    still_.restart();
    watch_ = std::make_unique<Timer>(loop_, [this] { watch(); });
    watch_->start(period, period);
}

void Agent::watch() {
    const ProgressPages::Activity activity = pages_.look(ranks_->all_running());
    if (quiet_limit_.count() == 0) return;
    if (activity.moved) {
        still_.restart();
        if (std::exchange(quiet_, false)) root_->send(Quiet{});
    } else if (const auto still = still_.read(kWatch); !quiet_ && still >= quiet_limit_) {
        quiet_ = true;
        root_->send(Quiet{true, activity.waiting});
    }
}

}  // namespace batchai::launcher

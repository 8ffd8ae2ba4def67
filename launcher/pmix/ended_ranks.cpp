// SPDX-License-Identifier: Apache-2.0
#include <pmix.h>

#include <algorithm>
#include <utility>

#include "launcher/pmix/workarounds.hpp"

namespace batchai::launcher::pmix {
namespace {

constexpr std::chrono::milliseconds kLookAgain{2};
// Time limit for the PMIx library to read. On a busy node its thread may take seconds.
constexpr std::chrono::seconds kPatience{10};

constexpr std::chrono::milliseconds kFirst{500}, kAgain{100};
constexpr int kTries = 3;

}  // namespace

int Groups::asked(const std::string& name, const RankSet& members,
                  const std::vector<int>& ranks_here) {
    Group& group = groups_[name];
    if (!members.empty()) group.members = members;
    const auto is_in = [&](int rank) { return group.members.contains(rank); };
    const auto ended = std::find_if(ended_.begin(), ended_.end(), is_in);
    const int missing = ended == ended_.end() ? -1 : *ended;
    if (++group.asked >= std::count_if(ranks_here.begin(), ranks_here.end(), is_in)) {
        group.asked = 0;
        if (members.empty()) groups_.erase(name);
    }
    return missing;
}

bool Groups::any_needs(int rank) const {
    return std::any_of(groups_.begin(), groups_.end(), [rank](const auto& entry) {
        return entry.second.asked > 0 && entry.second.members.contains(rank);
    });
}

LastWords::LastWords(Loop& loop, Host& host)
    : host_(host), again_(loop, [this] { judge_heard(); }) {}

void LastWords::add(RankEnd end) {
    // If the root has asked for the end, it is not a failure. The rank's PMIx state then does not
    // matter.
    auto unheard = end.asked ? std::vector<std::uint64_t>() : host_.unheard();
    waiting_.push_back(
        {std::move(end), std::move(unheard), std::chrono::steady_clock::now() + kPatience});
    if (!again_.active()) judge_heard();
}

void LastWords::judge_heard() {
    const auto now = std::chrono::steady_clock::now();
    const auto unheard = host_.unheard();
    const auto is_heard = [&](const Waiting& waiting) {
        return now >= waiting.deadline ||
               std::none_of(waiting.unheard.begin(), waiting.unheard.end(),
                            [&](std::uint64_t connection) {
                                return std::find(unheard.begin(), unheard.end(), connection) !=
                                       unheard.end();
                            });
    };
    while (!waiting_.empty() && is_heard(waiting_.front())) {
        host_.hear();
        RankEnd end = std::move(waiting_.front().end);
        waiting_.pop_front();
        host_.judge(std::move(end));
    }
    waiting_.empty() ? again_.stop() : again_.start(kLookAgain);
}

StandIns::StandIns(Loop& loop, Host& host, std::chrono::milliseconds limit)
    : host_(host), limit_(limit), again_(loop, [this] { look(); }) {}

void StandIns::add(int rank) {
    states_.try_emplace(rank);
    if (!again_.active()) again_.start(kFirst, kAgain);
}

// A stand-in that has failed may not have connected, so the library may still count the rank.
void StandIns::reap(pid_t pid, bool failed) {
    for (auto& [rank, one] : states_) {
        if (one.state != State::running || one.pid != pid) continue;
        one.state = failed && ++one.failures < kTries ? State::waiting : State::ended;
    }
}

void StandIns::start(int rank, StandIn& one) {
    one.pid = host_.start_stand_in(rank);
    one.state = one.pid > 0 ? State::running : State::forgotten;
    one.deadline = std::chrono::steady_clock::now() + limit_;
}

void StandIns::look() {
    const bool heard = host_.unheard().empty();
    const auto now = std::chrono::steady_clock::now();
    auto running = std::count_if(states_.begin(), states_.end(), [](const auto& entry) {
        return entry.second.state == State::running;
    });
    for (auto& [rank, one] : states_) {
        if (one.state == State::running && now >= one.deadline) {
            host_.kill_stand_in(one.pid);  // sent again until the process is reaped
        } else if (one.state == State::ended && heard) {
            host_.forget(rank);
            one.state = State::forgotten;
        } else if (one.state == State::waiting && running < kMost && host_.any_joined(rank)) {
            start(rank, one);
            ++running;
        }
    }
    const bool all = std::all_of(states_.begin(), states_.end(), [](const auto& entry) {
        return entry.second.state == State::forgotten;
    });
    if (all) again_.stop();
}

int stand_in_main() {
    pmix_proc_t rank;
    return PMIx_Init(&rank, nullptr, 0) == PMIX_SUCCESS ? 0 : 1;
}

}  // namespace batchai::launcher::pmix

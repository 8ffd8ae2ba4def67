// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/stand_ins.hpp"

#include <pmix.h>

#include <algorithm>
#include <utility>

namespace batchai::launcher {
namespace {

constexpr std::chrono::milliseconds kFirst{500}, kAgain{100};
constexpr int kTries = 3;

}  // namespace

StandIns::StandIns(Loop& loop, Callbacks callbacks, std::chrono::milliseconds limit)
    : callbacks_(std::move(callbacks)), limit_(limit), again_(loop, [this] { look(); }) {}

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
    one.pid = callbacks_.start(rank);
    one.state = one.pid > 0 ? State::running : State::forgotten;
    one.deadline = std::chrono::steady_clock::now() + limit_;
}

void StandIns::look() {
    const bool needed = callbacks_.needed();
    const bool heard = callbacks_.unheard().empty();
    const auto now = std::chrono::steady_clock::now();
    auto running = std::count_if(states_.begin(), states_.end(), [](const auto& entry) {
        return entry.second.state == State::running;
    });
    for (auto& [rank, one] : states_) {
        if (one.state == State::running && now >= one.deadline) {
            callbacks_.kill(one.pid);  // sent again until the process is reaped
        } else if (one.state == State::ended && heard) {
            callbacks_.forget(rank);
            one.state = State::forgotten;
        } else if (one.state == State::waiting && needed && running < kMost) {
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

}  // namespace batchai::launcher

// SPDX-License-Identifier: Apache-2.0
//
// Dispatcher: tunes its settings: the fusion threshold while the schedule is frozen, and the cycle
// time during negotiation.
#include <fmt/format.h>

#include "collectives/queue/dispatcher.hpp"

namespace batchai::coll {
namespace {

double seconds_between(Dispatcher::Clock::time_point from, Dispatcher::Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
}

}  // namespace

// During negotiation, steps may differ, so the time per byte counts. A step ends when all ranks
// have waited for all their submissions.
void Dispatcher::time_round(const Outcome& outcome) {
    if (!cycle_tuner_.is_enabled()) return;
    for (const Submission* submission : outcome.start) {
        bytes_since_settled_ += bytes_of(submission->parts);
    }
    if (!outcome.settled) return;
    const auto now = Clock::now();
    if (settled_ && bytes_since_settled_ > 0) {
        cycle_tuner_.step(seconds_between(*settled_, now) /
                          static_cast<double>(bytes_since_settled_));
    }
    settled_ = now;
    bytes_since_settled_ = 0;
    if (cycle_tuner_.is_undecided()) agree_on_times(cycle_tuner_);
}

void Dispatcher::time_schedule() {
    if (!fusion_tuner_.is_enabled()) return;
    const auto now = Clock::now();
    if (fusion_tuner_.step(seconds_between(cycle_began_, now))) {
        schedule_.cut(fusion_tuner_.value());
    }
    cycle_began_ = now;
    if (fusion_tuner_.is_undecided()) agree_on_times(fusion_tuner_);
}

void Dispatcher::agree_on_times(Tuner& tuner) {
    Call call;
    call.signature.kind = Kind::allreduce;
    call.signature.count = tuner.times().size();
    call.signature.type = BATCHAI_COLL_FLOAT64;
    call.receive = reinterpret_cast<std::byte*>(tuner.times().data());
    call.send = call.receive;
    tuning_ = &tuner;
    request_ = engine_.start(call);
}

void Dispatcher::tune() {
    Tuner& tuner = *tuning_;
    tuning_ = nullptr;
    tuner.decide();
    const bool fusion = &tuner == &fusion_tuner_;
    if (fusion) schedule_.cut(tuner.value());
    if (topology_.rank != 0) return;
    listener_.on_tuned(fusion
                           ? fmt::format("fusion threshold {} bytes", tuner.value())
                           : fmt::format("cycle {} ms", static_cast<double>(tuner.value()) / 1e6));
}

}  // namespace batchai::coll

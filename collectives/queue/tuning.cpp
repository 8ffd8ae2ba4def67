// SPDX-License-Identifier: Apache-2.0
#include "collectives/queue/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace batchai::coll {
namespace {

double seconds_between(std::chrono::steady_clock::time_point from,
                       std::chrono::steady_clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
}

}  // namespace

std::vector<std::size_t> fusion_thresholds(std::size_t step_bytes) {
    std::vector<std::size_t> thresholds;
    constexpr std::size_t kLeast = 1u << 20;
    for (std::size_t threshold = kLeast; thresholds.empty() || threshold < 2 * step_bytes;
         threshold *= 2) {
        thresholds.push_back(threshold);
    }
    return thresholds;
}

void Tuner::begin(const std::vector<std::size_t>& candidates) {
    if (!enabled_ || candidates == candidates_) return;
    candidates_ = candidates;
    times_.assign(candidates_.size(), 0);
    at_ = 0;
    steps_ = 0;
    value_ = candidates_.front();
}

bool Tuner::step(double seconds) {
    if (times_.empty() || is_undecided()) return false;
    if (++steps_ > kWarmUp) times_[at_] += seconds;
    if (steps_ < kWarmUp + kSteps) return false;
    steps_ = 0;
    if (++at_ == candidates_.size()) return false;
    value_ = candidates_[at_];
    return true;
}

void Tuner::decide() {
    const auto best = std::min_element(times_.begin(), times_.end());
    value_ = candidates_[static_cast<std::size_t>(best - times_.begin())];
    times_.clear();
}

Tuning::Tuning(std::size_t fusion_bytes, bool tune_fusion, std::chrono::nanoseconds cycle,
               bool tune_cycle)
    : fusion_(fusion_bytes, tune_fusion),
      cycle_(static_cast<std::size_t>(cycle.count()), tune_cycle) {
    // The first candidate is used as long as there is nothing to time.
    cycle_.begin({cycle_.value(), 0, 100'000, 2'000'000, 10'000'000});
}

// During negotiation, steps may differ, so the time per byte counts. A step ends when the ranks
// are settled.
void Tuning::time_round(std::size_t bytes, bool settled) {
    bytes_since_settled_ += bytes;
    if (!settled) return;
    const auto now = Clock::now();
    if (settled_ && bytes_since_settled_ > 0) {
        cycle_.step(seconds_between(*settled_, now) / static_cast<double>(bytes_since_settled_));
    }
    settled_ = now;
    bytes_since_settled_ = 0;
}

void Tuning::begin_schedule(std::size_t bytes) {
    fusion_.begin(fusion_thresholds(bytes));
    cycle_began_ = Clock::now();
    settled_.reset();
}

bool Tuning::time_cycle() {
    if (!fusion_.is_enabled()) return false;
    const auto now = Clock::now();
    const bool changed = fusion_.step(seconds_between(cycle_began_, now));
    cycle_began_ = now;
    return changed;
}

std::vector<double>* Tuning::undecided() {
    for (Tuner* tuner : {&fusion_, &cycle_}) {
        if (tuner->is_undecided()) return &tuner->times();
    }
    return nullptr;
}

Tuning::Decision Tuning::decide() {
    if (fusion_.is_undecided()) {
        fusion_.decide();
        return {true, fmt::format("fusion threshold {} bytes", fusion_.value())};
    }
    cycle_.decide();
    return {false, fmt::format("cycle {} ms", static_cast<double>(cycle_.value()) / 1e6)};
}

}  // namespace batchai::coll

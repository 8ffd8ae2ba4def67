// SPDX-License-Identifier: Apache-2.0
#include "collectives/queue/tuner.hpp"

#include <algorithm>

namespace batchai::coll {

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

std::vector<std::size_t> fusion_thresholds(std::size_t step_bytes) {
    std::vector<std::size_t> thresholds;
    constexpr std::size_t kLeast = 1u << 20;
    for (std::size_t threshold = kLeast; thresholds.empty() || threshold < 2 * step_bytes;
         threshold *= 2) {
        thresholds.push_back(threshold);
    }
    return thresholds;
}

}  // namespace batchai::coll

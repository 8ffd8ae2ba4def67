// SPDX-License-Identifier: Apache-2.0
#include "collectives/queue/tuner.hpp"

#include <algorithm>

namespace batchai::coll {

void Tuner::begin(std::size_t cycle_bytes) {
    if (!enabled_ || cycle_bytes == cycle_bytes_) return;
    cycle_bytes_ = cycle_bytes;
    tried_.clear();
    constexpr std::size_t kLeast = 1u << 20;
    for (std::size_t threshold = kLeast; tried_.empty() || threshold < 2 * cycle_bytes;
         threshold *= 2) {
        tried_.push_back(threshold);
    }
    times_.assign(tried_.size(), 0);
    at_ = 0;
    cycles_ = 0;
    threshold_ = tried_.front();
}

bool Tuner::cycle(double seconds) {
    if (!enabled_ || at_ == tried_.size()) return false;
    if (++cycles_ > kWarmUp) times_[at_] += seconds;
    if (cycles_ < kWarmUp + kCycles) return false;
    cycles_ = 0;
    if (++at_ < tried_.size()) threshold_ = tried_[at_];
    return at_ < tried_.size();
}

void Tuner::decide() {
    const auto best = std::min_element(times_.begin(), times_.end());
    threshold_ = tried_[static_cast<std::size_t>(best - times_.begin())];
    tried_.clear();
    at_ = 0;
}

}  // namespace batchai::coll

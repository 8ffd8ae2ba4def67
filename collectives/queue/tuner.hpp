// SPDX-License-Identifier: Apache-2.0
//
// Tuner: looks for the fusion threshold with which the cycles of a frozen schedule are shortest. It
// tries every power of two from 1 MiB up to all of a cycle's bytes at once, some cycles each, and
// stays with the best. Pure; all ranks try the same thresholds in the same cycles, and decide on
// the sums of their times. Results do not change: their bits do not depend on fusion.
#pragma once

#include <cstddef>
#include <vector>

namespace batchai::coll {

class Tuner {
  public:
    // enabled: else the threshold stays.
    Tuner(std::size_t threshold, bool enabled) : threshold_(threshold), enabled_(enabled) {}

    std::size_t threshold() const { return threshold_; }
    // A schedule of so many bytes a cycle was frozen.
    void begin(std::size_t cycle_bytes);
    // A cycle took so long. True: threshold() is another one from here on.
    bool cycle(double seconds);
    // All have been tried: times() of all ranks are to be added up and given to decide().
    bool is_undecided() const { return enabled_ && !tried_.empty() && at_ == tried_.size(); }
    std::vector<double>& times() { return times_; }
    void decide();

  private:
    static constexpr int kWarmUp = 2, kCycles = 10;  // of each threshold

    std::size_t threshold_;
    bool enabled_;
    std::size_t cycle_bytes_ = 0;
    std::vector<std::size_t> tried_;  // thresholds
    std::vector<double> times_;       // seconds, of each
    std::size_t at_ = 0;
    int cycles_ = 0;
};

}  // namespace batchai::coll

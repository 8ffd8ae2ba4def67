// SPDX-License-Identifier: Apache-2.0
//
// Tuner: finds the value of a setting for which a job's steps are shortest. It tries every
// candidate for some steps and keeps the best. Pure: all ranks try the same candidates in the same
// steps, and decide by the sums of their times. The bits of results do not change, because they do
// not depend on which tensors are fused or when.
#pragma once

#include <cstddef>
#include <vector>

namespace batchai::coll {

class Tuner {
  public:
    // enabled: false keeps the value.
    Tuner(std::size_t value, bool enabled) : value_(value), enabled_(enabled) {}

    bool is_enabled() const { return enabled_; }
    std::size_t value() const { return value_; }
    // Sets the candidates. If they equal those of the last call, the tuner continues, or keeps the
    // value that it has found.
    void begin(const std::vector<std::size_t>& candidates);
    // Reports a step's time. True: value() has changed.
    bool step(double seconds);
    // All candidates were tried: add up times() over all ranks and call decide().
    bool is_undecided() const { return !times_.empty() && at_ == candidates_.size(); }
    std::vector<double>& times() { return times_; }
    void decide();

  private:
    static constexpr int kWarmUp = 2, kSteps = 10;  // steps per candidate

    std::size_t value_;
    bool enabled_;
    std::vector<std::size_t> candidates_;
    std::vector<double> times_;  // by candidate: the sum of times; empty: no candidates
    std::size_t at_ = 0;
    int steps_ = 0;
};

// Fusion thresholds for a job that reduces so many bytes per step: every power of two from 1 MiB up
// to one that holds all bytes.
std::vector<std::size_t> fusion_thresholds(std::size_t step_bytes);

}  // namespace batchai::coll

// SPDX-License-Identifier: Apache-2.0
//
// Tuning: finds the values of a queue's settings for which a job's steps are shortest: the fusion
// threshold while the schedule is frozen, and the cycle time during negotiation. All ranks try the
// same candidates in the same steps, and decide by the sums of their times. The bits of results do
// not change, because they do not depend on which tensors are fused or when.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace batchai::coll {

// Tunes one setting: tries every candidate for some steps and keeps the best. Pure.
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

class Tuning {
  public:
    Tuning(std::size_t fusion_bytes, bool tune_fusion, std::chrono::nanoseconds cycle,
           bool tune_cycle);

    bool tunes_cycle() const { return cycle_.is_enabled(); }
    bool tunes_fusion() const { return fusion_.is_enabled(); }
    std::size_t fusion_bytes() const { return fusion_.value(); }
    std::chrono::nanoseconds cycle() const { return std::chrono::nanoseconds(cycle_.value()); }

    // If tunes_cycle(): a round has started submissions of so many bytes. settled: all ranks have
    // waited for all their submissions.
    void time_round(std::size_t bytes, bool settled);
    // The schedule is frozen; a cycle has so many bytes.
    void begin_schedule(std::size_t bytes);
    // A cycle of the schedule has ended. True: fusion_bytes() has changed.
    bool time_cycle();

    // The times of a setting whose candidates were all tried: add them up over all ranks, and call
    // decide(). Null: there is none.
    std::vector<double>* undecided();
    struct Decision {
        bool is_fusion;
        std::string text;  // "cycle 0.5 ms"
    };
    Decision decide();

  private:
    using Clock = std::chrono::steady_clock;

    Tuner fusion_, cycle_;                      // bytes, nanoseconds
    Clock::time_point cycle_began_{};           // start of the schedule's current cycle
    std::optional<Clock::time_point> settled_;  // negotiation: ranks were last settled
    std::size_t bytes_since_settled_ = 0;
};

}  // namespace batchai::coll

// SPDX-License-Identifier: Apache-2.0
//
// The pause between two questions to Slurm about a job: a tenth of the time waited so far. The end
// of a short job is noticed quickly, and a long job puts little load on slurmctld.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace batchai::slurm {

class Poll {
  public:
    using Clock = std::chrono::steady_clock;
    using Seconds = std::chrono::duration<double>;

    explicit Poll(Seconds longest = Seconds(5)) : longest_(longest) {}

    Seconds pause() const {
        return std::min(longest_, std::max(kShortest, Seconds(Clock::now() - start_) / 10));
    }
    void sleep() {
        std::this_thread::sleep_for(pause());
        asked_ = Clock::now();
    }
    // True once per pause(), for loops that do other work in between.
    bool due() {
        if (Clock::now() - asked_ < pause()) return false;
        asked_ = Clock::now();
        return true;
    }

  private:
    static constexpr Seconds kShortest{0.2};
    Seconds longest_;
    Clock::time_point start_ = Clock::now();
    Clock::time_point asked_{};
};

}  // namespace batchai::slurm

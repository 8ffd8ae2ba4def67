// SPDX-License-Identifier: Apache-2.0
//
// RankSampler: measures what the node's ranks do while a user watches the job, for `batchai top`.
// Each call of answer() sends the root a Sampled. Shares of waiting need more looks than the root
// asks for, so for some seconds after a call it also looks at the ranks' progress pages, 20 times a
// second. Without calls it does nothing.
#pragma once

#include <chrono>
#include <map>

#include "launcher/agent/gpu_load.hpp"
#include "launcher/agent/rank_state.hpp"
#include "launcher/agent/ranks.hpp"

namespace batchai::launcher {

class ProgressPages;

class RankSampler {
  public:
    // The objects outlive this one.
    RankSampler(Loop& loop, const Ranks& ranks, const ProgressPages& pages, Channel& root,
                const env::Environment& environment);

    void answer();

  private:
    // What is known of a rank since the last answer.
    struct Seen {
        double cpu = 0;  // at the last answer
        std::uint64_t operation = 0;
        int looks = 0, waiting = 0;
        bool measured = false;  // there was a last answer
    };
    void look();
    RankSample sample(int rank, double seconds);
    void add_progress(RankSample& sample, Seen& seen, double seconds) const;

    const Ranks& ranks_;
    const ProgressPages& pages_;
    Channel& root_;
    GpuLoad gpus_;
    Timer looks_;
    std::map<int, Seen> seen_;  // by rank
    std::chrono::steady_clock::time_point answered_;
};

}  // namespace batchai::launcher

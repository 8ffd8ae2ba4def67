// SPDX-License-Identifier: Apache-2.0
//
// Heartbeats: finds peers whose counters have not grown for too long. Pure: the caller passes
// the time.
//
// A process that was stopped itself, or whose machine was suspended, cannot judge the others. It
// calls forgive(), which restarts all times.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace batchai::coll {

class Heartbeats {
  public:
    using Time = std::chrono::steady_clock::time_point;

    // limit: 0: none.
    Heartbeats(std::size_t count, std::chrono::milliseconds limit, Time now)
        : limit_(limit), others_(count, {0, now}) {}

    void see(std::size_t who, std::uint64_t beats, Time now) {
        if (others_[who].beats == beats) return;
        others_[who] = {beats, now};
    }
    bool silent(std::size_t who, Time now) const {
        return limit_.count() > 0 && now - others_[who].since >= limit_;
    }
    void forgive(Time now) {
        for (Other& other : others_) other.since = now;
    }

  private:
    struct Other {
        std::uint64_t beats;
        Time since;
    };
    std::chrono::milliseconds limit_;
    std::vector<Other> others_;
};

}  // namespace batchai::coll

// SPDX-License-Identifier: Apache-2.0
//
// What this rank has submitted and not yet started: OwnRequests has the submissions, RoundTimer
// says when the ranks negotiate about them next, and StallTimer when the ranks that keep them
// waiting are reported.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "collectives/comm/progress.hpp"
#include "collectives/queue/submission.hpp"

namespace batchai::coll {

// This rank's pending requests, in the order of submission and by number in the response cache.
class OwnRequests {
  public:
    explicit OwnRequests(const ResponseCache& cache) : cache_(cache), by_id_(cache.capacity()) {}

    void add(Submission* submission);
    // Call it before the end is reported: after that, a caller may reuse the memory for its next
    // operation.
    void remove(const std::vector<Submission*>& submissions);
    // The response cache has changed.
    void identify();

    const std::vector<Submission*>& all() const { return all_; }
    bool empty() const { return all_.empty(); }
    Submission* oldest() const { return all_.front(); }
    std::size_t bytes() const { return bytes_; }
    // The oldest submission of that number; null: there is none.
    Submission* of(int id) const { return by_id_[static_cast<std::size_t>(id)]; }
    // How many of these numbers have no submission.
    std::size_t missing(const std::vector<int>& ids) const;

  private:
    void index(Submission* submission);

    const ResponseCache& cache_;
    std::vector<Submission*> all_;
    std::vector<Submission*> by_id_;  // the oldest one; next_alike leads to the others
    std::uint64_t added_ = 0;
    std::size_t bytes_ = 0;
};

// What an idle queue waits for: one of these is enough.
struct IdleWait {
    std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max();
    std::size_t submissions = 1;  // at least so many more submissions
    std::size_t bytes = 0;        // at least so many more bytes; 0: no such condition
};

// Says when the next round of negotiation is due: once requests have waited for a cycle, at once if
// they fill a message or a caller waits, and after a growing pause if a round has started nothing.
class RoundTimer {
  public:
    using Clock = std::chrono::steady_clock;

    // patience: how long a caller waits until this rank counts as stuck.
    RoundTimer(std::size_t most_bytes, std::size_t most_requests, std::chrono::nanoseconds patience)
        : most_bytes_(most_bytes), most_requests_(most_requests), patience_(patience) {}

    // Requests, or what callers wait for, have changed since the last round.
    void note_change() { fresh_ = true; }
    // As Dispatcher::set_blocked().
    void set_blocked(bool blocked, bool alone);
    // The rank leaves, so it waits for every round.
    void leave() { leaves_ = fresh_ = true; }
    bool is_blocked() const { return blocked_ || leaves_; }
    bool is_stuck(Clock::time_point now) const;

    bool is_due(const OwnRequests& requests, std::chrono::nanoseconds cycle,
                Clock::time_point now) const;
    IdleWait wait(const OwnRequests& requests, std::chrono::nanoseconds cycle) const;
    void begin_round();
    // The round has started nothing.
    void retry_later();

  private:
    std::size_t most_bytes_, most_requests_;
    std::chrono::nanoseconds patience_;
    bool blocked_ = false, alone_ = false, leaves_ = false, fresh_ = false;
    Clock::time_point blocked_since_{};
    std::chrono::nanoseconds pause_{0};
    Clock::time_point retry_at_{};
};

// Labels this rank's current work on its progress page, and says when a stall is to be reported.
class StallTimer {
  public:
    using Clock = std::chrono::steady_clock;

    // limit: how long a request is pending until a report; 0: never.
    StallTimer(Progress& progress, std::chrono::nanoseconds limit)
        : progress_(progress), limit_(limit) {}

    void show(const std::vector<Submission*>& together);
    const std::string& label() const { return label_; }
    // The oldest request has changed.
    void restart(const OwnRequests& requests);
    // If a report is due, the next one is due after the same time.
    bool is_due();

  private:
    Progress& progress_;
    std::chrono::nanoseconds limit_;
    Clock::time_point at_ = Clock::time_point::max();
    std::string label_;
};

}  // namespace batchai::coll

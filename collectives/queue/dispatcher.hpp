// SPDX-License-Identifier: Apache-2.0
//
// Dispatcher: decides which of its pending requests this rank works on next: a round of
// negotiation, the next bucket of the schedule, or the messages that a round has started.
//
// It is a state machine without a thread or lock; queue.hpp provides both. step() never waits,
// except for a caller's own operation and until the ranks' GPUs have connected. The ranks'
// dispatchers may be stepped in any order.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <vector>

#include "collectives/queue/message.hpp"
#include "collectives/queue/negotiation.hpp"
#include "collectives/queue/pending.hpp"
#include "collectives/queue/tuning.hpp"

namespace batchai::coll {

// Gets reports of the dispatcher about submissions, in the thread that calls step(). Its owner
// keeps the states of submissions.
class Listener {
  public:
    Listener() = default;
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;
    virtual ~Listener() = default;

    // These submissions are pending on all ranks, and will be started.
    virtual void on_agreed(const std::vector<Submission*>& submissions) = 0;
    // These submissions have ended; failure is null on success.
    virtual void on_ended(const std::vector<Submission*>& together, const Failure* failure) = 0;

    // For reports and the timeline.
    virtual void on_negotiation(bool /*begins*/) {}
    // These were started as one message of so many bytes. If a rank vetoes it, they stay
    // pending.
    virtual void on_started(const std::vector<Submission*>&, std::size_t /*bytes*/) {}
    virtual void on_cycle() {}  // a cycle of the schedule begins
    // On one rank only. on_stall: the text of describe_stall(). on_tuned: the fastest value of a
    // setting, such as "cycle 0.5 ms".
    virtual void on_stall(const std::string&) {}
    virtual void on_tuned(const std::string&) {}
};

class Dispatcher {
  public:
    using Clock = std::chrono::steady_clock;

    struct Options {
        std::size_t fusion_bytes = 16u << 20;     // the largest message
        std::chrono::nanoseconds cycle{500'000};  // how long requests wait for further ones
        // How long the dispatcher waits for the rest of a bucket while other ranks may wait for its
        // first tensors. Also how long a caller waits until this rank counts as stuck.
        std::chrono::nanoseconds patience{1'000'000'000};
        std::size_t cache_capacity = 1024;  // keys in the response cache
        bool tune_fusion = false, tune_cycle = false;
        std::chrono::nanoseconds stall{0};  // time until a pending request is reported; 0: never
        std::vector<int> numbers;           // the ranks' numbers in messages
        DeviceMessages* devices = nullptr;  // null: no submissions of GPU memory
    };

    Dispatcher(Engine& engine, Progress& progress, const Topology& topology, Listener& listener,
               Options options);

    void add(Submission* submission, Clock::time_point now);
    // blocked: a caller waits for a pending request. alone: no other known caller of this rank
    // might submit the operation that other ranks wait for.
    void set_blocked(bool blocked, bool alone = true) { rounds_.set_blocked(blocked, alone); }
    // The rank leaves: all pending requests fail. Complete when all ranks leave.
    void close();
    bool has_closed() const { return life_ == Life::closed; }

    Step step();
    // Whether submissions are pending or in progress.
    bool has_work() const { return !requests_.empty() || is_under_way() || life_ == Life::closing; }
    // nullopt: an operation is in progress.
    std::optional<IdleWait> idle_wait() const;

  private:
    bool is_under_way() const { return work_ != Work::none || !batch_.empty(); }
    void fail_everything(const Failure& failure);
    void report_missing();
    void remove(const std::vector<Submission*>& submissions);

    // Negotiation.
    Step choose();
    void begin_round(Clock::time_point now);
    Step negotiate();
    void take_outcome();

    Step start_message();
    Step await_message();
    Step end_message(Step step);

    // The frozen schedule.
    Step follow_schedule();
    bool has_to_veto(Clock::time_point now) const;
    void start_bucket(bool veto);
    void end_bucket();
    void freeze();

    // The ranks add up their times of a setting's candidates, if all of them were tried.
    void agree_on_times();
    void take_decision();

    Engine& engine_;
    const Topology& topology_;
    Listener& listener_;
    Options options_;
    ResponseCache cache_;
    Negotiation negotiation_;
    Schedule schedule_;
    Tuning tuning_;
    OwnRequests requests_;
    RoundTimer rounds_;
    StallTimer stalls_;

    enum class Life { open, closing, closed } life_ = Life::open;
    enum class Work { none, round, message, bucket, times } work_ = Work::none;
    Message message_;                             // unless the work is a round
    std::deque<std::vector<Submission*>> batch_;  // the next messages
};

}  // namespace batchai::coll

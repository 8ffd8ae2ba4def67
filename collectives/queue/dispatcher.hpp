// SPDX-License-Identifier: Apache-2.0
//
// Dispatcher: decides which submissions in line this rank works on next, and executes them: a round
// of negotiation, the next bucket of the schedule, or the operations that a round has started.
//
// It is a state machine without a thread or lock; queue.hpp provides both. step() never waits,
// except for a caller's own operation and until the ranks' GPUs have connected. The ranks'
// dispatchers may be stepped in any order.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <vector>

#include "collectives/queue/device_messages.hpp"
#include "collectives/queue/negotiation.hpp"
#include "collectives/queue/schedule.hpp"
#include "collectives/queue/tuner.hpp"

namespace batchai::coll {

// Gets reports of the dispatcher about submissions, in the thread that calls step(). Its owner
// keeps the states of submissions.
class Listener {
  public:
    Listener() = default;
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;
    virtual ~Listener() = default;

    // All ranks have these submissions in line. They leave the line and will be started.
    virtual void on_agreed(const std::vector<Submission*>& submissions) = 0;
    // These submissions have ended; failure is null on success.
    virtual void on_ended(const std::vector<Submission*>& together, const Failure* failure) = 0;

    // For reports and the timeline.
    virtual void on_negotiation(bool /*begins*/) {}
    // These were started as one message of so many bytes. If a rank vetoes it, they stay in line.
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
        std::chrono::nanoseconds cycle{500'000};  // how long a line waits for further submissions
        // How long the dispatcher waits for the rest of a bucket while other ranks may wait for its
        // first tensors. Also how long a caller waits until this rank counts as stuck.
        std::chrono::nanoseconds patience{1'000'000'000};
        std::size_t cache_capacity = 1024;  // keys in the response cache
        bool tune_fusion = false, tune_cycle = false;
        std::chrono::nanoseconds stall{0};  // time in line until a report; 0: never
        std::vector<int> numbers;           // the ranks' numbers in messages
        DeviceMessages* devices = nullptr;  // null: no submissions of GPU memory
    };

    Dispatcher(Engine& engine, Progress& progress, const Topology& topology, Listener& listener,
               Options options);

    // Puts a submission in line.
    void add(Submission* submission, Clock::time_point now);
    // blocked: a caller waits for a submission in line. alone: no other known caller of this rank
    // might submit the operation that other ranks wait for.
    void set_blocked(bool blocked, bool alone = true);
    // The rank leaves: everything in line fails. Complete when all ranks leave.
    void close();
    bool has_closed() const { return closed_; }

    Step step();
    // Whether submissions are in line or in progress.
    bool has_work() const { return !line_.empty() || is_under_way() || (closing_ && !closed_); }

    // The conditions, any of which ends an idle dispatcher's rest.
    struct Rest {
        Clock::time_point until = Clock::time_point::max();
        std::size_t submissions = 1;  // at least so many more submissions
        std::size_t bytes = 0;        // at least so many more bytes; 0: no such condition
    };
    // nullopt: an operation is in progress.
    std::optional<Rest> rest() const;

  private:
    bool is_under_way() const {
        return negotiation_.under_way() || request_ != nullptr || on_device_ || !batch_.empty();
    }
    void fail_everything(const Failure& failure);
    void report_missing();

    // Negotiation.
    Step choose();
    std::chrono::nanoseconds cycle() const {
        return std::chrono::nanoseconds(cycle_tuner_.value());
    }
    bool is_due(Clock::time_point now) const;
    bool is_stuck(Clock::time_point now) const;
    void begin_round(Clock::time_point now);
    Step negotiate();
    void take_outcome();
    void make_messages(const std::vector<Submission*>& start);

    // The messages of a round, one after another.
    Step start_message();
    void call_caller(Submission& submission);
    void start_parts();
    Step await_request();
    Step await_device();
    void finish_message();
    void end_message(const Failure* failure);

    // The frozen schedule.
    Step follow_schedule();
    std::size_t missing_of_bucket() const;
    bool has_to_veto(Clock::time_point now) const;
    void start_bucket(bool veto);
    void finish_bucket();
    void freeze();

    // Tuning.
    void time_round(const Outcome& outcome);
    void time_schedule();
    void agree_on_times(Tuner& tuner);
    void tune();

    void start_call(const FusionKey& key, std::size_t elements, bool* vetoed);
    void add_piece(const Part& part);
    void show(const std::vector<Submission*>& together);
    void index(Submission* submission);
    void leave_line(const std::vector<Submission*>& submissions);

    Engine& engine_;
    Progress& progress_;
    const Topology& topology_;
    Listener& listener_;
    Options options_;
    ResponseCache cache_;
    Negotiation negotiation_;
    Schedule schedule_;
    Tuner fusion_tuner_, cycle_tuner_;  // bytes, nanoseconds

    std::vector<Submission*> line_;   // in the order of submission
    std::vector<Submission*> by_id_;  // by id, the first one in line; null: none
    std::uint64_t submitted_ = 0;
    std::size_t line_bytes_ = 0;
    bool blocked_ = false, alone_ = false, closing_ = false, closed_ = false;
    Clock::time_point blocked_since_{};

    bool fresh_ = false;  // something has changed since the last round
    std::chrono::nanoseconds pause_{0};
    Clock::time_point retry_at_{};
    Clock::time_point report_at_ = Clock::time_point::max();

    std::deque<std::vector<Submission*>> batch_;  // the next messages
    std::vector<Submission*> together_;           // of the current message
    std::size_t parts_done_ = 0;                  // of the only submission in together_
    std::vector<Piece> pieces_;
    Engine::Request* request_ = nullptr;
    bool on_device_ = false;  // the current message is on the GPU
    bool in_bucket_ = false, vetoed_ = false;
    alignas(8) std::byte head_[8];              // the veto number of a bucket (veto.hpp)
    Clock::time_point cycle_began_{};           // start of the schedule's current cycle
    std::optional<Clock::time_point> settled_;  // negotiation: ranks were last settled
    std::size_t bytes_since_settled_ = 0;
    Tuner* tuning_ = nullptr;  // the tuner on whose times the ranks are agreeing; null: none
    std::string label_;
};

}  // namespace batchai::coll

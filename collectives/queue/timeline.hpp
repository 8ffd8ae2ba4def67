// SPDX-License-Identifier: Apache-2.0
//
// Timeline: records the states of each submission in a file in Chrome's trace format (an array of
// events, which chrome://tracing and ui.perfetto.dev show). Each rank writes its own file. Each
// tensor has a row: pending (NEGOTIATE_ALLREDUCE), then in progress (ALLREDUCE; for a caller's own
// operation, the first word of its description). Rounds of negotiation and messages share one row.
//
// Any thread may call it. A thread of the timeline writes new events twenty times a second and at
// the end, with a closing bracket that the next events replace. So the file of a job that hangs or
// was killed lacks only its last moments.
//
// Source: "Trace Event Format", Google. Names are those of Horovod's timeline, if it has them.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "collectives/queue/submission.hpp"
#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::coll {

class Timeline {
  public:
    using Clock = std::chrono::steady_clock;

    explicit Timeline(int rank) : rank_(rank) {}
    ~Timeline() { stop(); }
    Timeline(const Timeline&) = delete;
    Timeline& operator=(const Timeline&) = delete;

    sys::Result<void> start(const std::string& path, bool mark_cycles);
    void stop();
    bool is_on() const { return on_; }

    // Events in a tensor's row.
    void begin(std::string_view tensor, std::string_view what, Clock::time_point when);
    void end(std::string_view tensor, std::string_view what, Clock::time_point when);
    // An event in the rank's row for messages and rounds.
    void span(std::string_view what, Clock::time_point began, std::size_t bytes,
              std::size_t tensors);
    void cycle();

  private:
    void add(std::string_view event);
    void write_until_stopped();
    void write(std::string_view events);
    double microseconds(Clock::time_point time) const {
        return std::chrono::duration<double, std::micro>(time - origin_).count();
    }

    int rank_;
    std::atomic<bool> mark_cycles_ = false;
    const Clock::time_point origin_ = Clock::now();

    std::mutex lock_;  // guards the members below
    std::condition_variable stopped_;
    std::atomic<bool> on_ = false;
    std::string events_;  // not written yet
    bool first_ = true;

    // Used by the timeline's thread, or by others while it does not run.
    sys::UniqueFd file_;
    ::off_t end_ = 0;  // file offset of the closing bracket
    std::thread thread_;
};

// Trace: what a queue does, as events of its timeline. The functions are those of Listener. Call
// them before the submissions' states change.
class Trace {
  public:
    explicit Trace(int rank) : timeline_(rank) {}

    // Starts a new timeline; an empty path ends the current one.
    sys::Result<void> start(const std::string& path, bool mark_cycles);
    void stop() { timeline_.stop(); }

    void on_submitted(const Submission& submission) {
        if (timeline_.is_on()) begin_row(submission);
    }
    void on_agreed(const std::vector<Submission*>& submissions);
    void on_ended(const std::vector<Submission*>& together, bool well);
    void on_negotiation(bool begins);
    void on_started(std::size_t bytes);
    void on_cycle() { timeline_.cycle(); }

  private:
    void begin_row(const Submission& submission);

    Timeline timeline_;
    Timeline::Clock::time_point round_began_{}, message_began_{};
    std::size_t message_bytes_ = 0;
};

// The text as a quoted JSON string.
std::string json_string(std::string_view text);

}  // namespace batchai::coll

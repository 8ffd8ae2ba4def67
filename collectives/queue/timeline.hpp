// SPDX-License-Identifier: Apache-2.0
//
// Timeline: what became of each submission, and when, as a file in Chrome's trace format (an array
// of events; chrome://tracing and ui.perfetto.dev show it). A rank writes its own. Each tensor has
// a row: in line (NEGOTIATE), then under way (ALLREDUCE, or OPERATION for a caller's own). Rounds
// of negotiation and messages share one.
//
// Threads: any may call; it writes in the caller's, through a buffer. A file that was not ended, as
// of a job that was killed, lacks the closing bracket, which the format allows.
//
// Source: "Trace Event Format", Google; the names of Horovod's timeline where there are such.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "sys/result.hpp"

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

    // Of a tensor's row.
    void begin(std::string_view tensor, std::string_view what, Clock::time_point when);
    void end(std::string_view tensor, std::string_view what, Clock::time_point when);
    // Of the rank's row for messages and rounds.
    void span(std::string_view what, Clock::time_point began, std::size_t bytes,
              std::size_t tensors);
    void cycle();

  private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };

    void write(std::string_view event);
    double microseconds(Clock::time_point time) const {
        return std::chrono::duration<double, std::micro>(time - origin_).count();
    }

    int rank_;
    std::mutex lock_;
    std::unique_ptr<std::FILE, Close> file_;
    std::atomic<bool> on_ = false;
    std::atomic<bool> mark_cycles_ = false;
    bool first_ = true;
    const Clock::time_point origin_ = Clock::now();
    Clock::time_point flushed_;
};

// A string as JSON has it, quoted.
std::string json_string(std::string_view text);

}  // namespace batchai::coll

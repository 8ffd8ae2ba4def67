// SPDX-License-Identifier: Apache-2.0
//
// Sink: writes pieces to a descriptor in order, in libuv's thread pool, so that a full disk or a
// terminal on hold stops the ranks' output but never the root's control of the job.
#pragma once

#include <uv.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "launcher/loop.hpp"

namespace batchai::launcher {

class Sink {
  public:
    // fd stays the caller's. A write error is told once; what follows is dropped.
    Sink(Loop& loop, int fd, std::function<void(const std::string&)> on_error);
    Sink(const Sink&) = delete;
    Sink& operator=(const Sink&) = delete;

    void write(std::string bytes, std::function<void()> on_written);
    bool idle() const { return !busy_ && queue_.empty(); }
    // Called when the last piece was written.
    void set_on_idle(std::function<void()> callback) { on_idle_ = std::move(callback); }

  private:
    struct Piece {
        std::string bytes;
        std::function<void()> on_written;
    };
    static constexpr std::size_t kTogether = 64;

    void next();
    void taken();
    void written(ssize_t size);

    Loop& loop_;
    int fd_;
    std::function<void(const std::string&)> on_error_;
    std::function<void()> on_idle_;
    std::deque<Piece> queue_;
    std::size_t offset_ = 0;  // within the first piece
    bool busy_ = false, broken_ = false;
    uv_fs_t request_{};
};

}  // namespace batchai::launcher

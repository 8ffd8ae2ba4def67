// SPDX-License-Identifier: Apache-2.0
//
// Sink: writes pieces to a descriptor in order, in libuv's thread pool, so that a file server that
// does not answer or a terminal on hold stops the ranks' output but never the root's control of the
// job. A file that cannot be written ends no job: the output goes on in a file on this node.
#pragma once

#include <uv.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "launcher/common/event_loop.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::launcher {

class Sink {
  public:
    struct Target {
        int fd = -1;       // stays the caller's
        std::string name;  // the file, as its user knows it
    };
    struct Failure {
        std::string name;  // of the file that could not be written
        std::string why;
        std::string kept;  // the file on this node in which the output goes on; empty: it is lost
        bool no_reader = false;  // of a pipe
    };
    // A failure is told when it happens: at most one of the target, and one of the file after it.
    Sink(Loop& loop, Target target, std::function<void(const Failure&)> on_failure);
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
    void failed(int code);

    Loop& loop_;
    Target target_;
    std::function<void(const Failure&)> on_failure_;
    sys::UniqueFd kept_;
    std::function<void()> on_idle_;
    std::deque<Piece> queue_;
    std::size_t offset_ = 0;  // within the first piece
    bool busy_ = false, broken_ = false;
    uv_fs_t request_{};
};

// Of this process: its file, if it is one.
Sink::Target standard_stream(int fd);

// "FILE: no space left on device; the ranks' output goes on in n1:/var/tmp/..."
std::string describe(const Sink::Failure& failure, const std::string& node);

}  // namespace batchai::launcher

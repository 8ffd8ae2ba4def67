// SPDX-License-Identifier: Apache-2.0
//
// InputFeed: passes standard input on to the agent of rank 0, in blocks. It reads a block when the
// receiver has taken the last one. A thread of libuv reads, and may stay in read() until the
// process ends.
#pragma once

#include <uv.h>

#include <memory>
#include <string>

#include "launcher/common/event_loop.hpp"
#include "launcher/root/nodes.hpp"

namespace batchai::launcher {

class InputFeed {
  public:
    InputFeed(Loop& loop, Nodes& nodes);
    InputFeed(const InputFeed&) = delete;
    InputFeed& operator=(const InputFeed&) = delete;

    // not wanted: the ranks' input ends at once.
    void start(bool wanted);
    // Call it when the receiver has taken the last block.
    void next();
    // Stops passing input on.
    void stop();
    // Whether a thread is in read() and uses this object.
    bool reading() const { return reading_; }

  private:
    void read();
    void pass_on(ssize_t size);

    Loop& loop_;
    Nodes& nodes_;
    uv_fs_t request_{};
    std::string buffer_;
    enum class State { idle, started, stopped } state_ = State::idle;
    bool reading_ = false;
    std::unique_ptr<Poll> ready_;  // waits for input on a non-blocking descriptor
};

}  // namespace batchai::launcher

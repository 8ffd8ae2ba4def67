// SPDX-License-Identifier: Apache-2.0
//
// InputFeed: passes standard input on, one block at a time. It reads the next block when the last
// one was taken. A thread of libuv reads, and may stay in read() until the process ends.
#pragma once

#include <uv.h>

#include <functional>
#include <memory>
#include <string>

#include "launcher/common/event_loop.hpp"
#include "launcher/common/message.hpp"

namespace batchai::launcher {

class InputFeed {
  public:
    // send: an empty block is the end.
    InputFeed(Loop& loop, std::function<void(const Input&)> send);
    InputFeed(const InputFeed&) = delete;
    InputFeed& operator=(const InputFeed&) = delete;

    void start();
    // The last block has been taken.
    void next();
    // Passes on nothing more.
    void stop();
    // A thread is in read(), and uses this object.
    bool reading() const { return reading_; }

  private:
    void read();
    void pass_on(ssize_t size);

    Loop& loop_;
    std::function<void(const Input&)> send_;
    uv_fs_t request_{};
    std::string buffer_;
    enum class State { idle, started, stopped } state_ = State::idle;
    bool reading_ = false;
    std::unique_ptr<Poll> ready_;  // while a non-blocking standard input has nothing
};

}  // namespace batchai::launcher

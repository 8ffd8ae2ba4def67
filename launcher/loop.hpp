// SPDX-License-Identifier: Apache-2.0
//
// Owners of libuv handles: Loop, Timer, Poll. A handle is closed by its owner's destructor; its
// memory goes when the loop has let go of it. All of it belongs to one thread.
#pragma once

#include <uv.h>

#include <chrono>
#include <functional>

#include "sys/unique_fd.hpp"

namespace batchai::launcher {

class Loop {
  public:
    Loop() { uv_loop_init(&loop_); }
    ~Loop() {
        uv_run(&loop_, UV_RUN_NOWAIT);  // lets closed handles go
        uv_loop_close(&loop_);
    }
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    uv_loop_t* get() { return &loop_; }
    void run() { uv_run(&loop_, UV_RUN_DEFAULT); }
    void stop() { uv_stop(&loop_); }

  private:
    uv_loop_t loop_{};
};

// Calls back once after a delay, or again and again.
class Timer {
  public:
    Timer(Loop& loop, std::function<void()> callback) : state_(new State{{}, std::move(callback)}) {
        uv_timer_init(loop.get(), &state_->handle);
        state_->handle.data = state_;
    }
    ~Timer() {
        uv_close(reinterpret_cast<uv_handle_t*>(&state_->handle),
                 [](uv_handle_t* handle) { delete static_cast<State*>(handle->data); });
    }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

    void start(std::chrono::milliseconds delay, std::chrono::milliseconds repeat = {}) {
        const auto fire = [](uv_timer_t* timer) { static_cast<State*>(timer->data)->callback(); };
        uv_timer_start(&state_->handle, fire, delay.count(), repeat.count());
    }
    void stop() { uv_timer_stop(&state_->handle); }
    bool active() const {
        return uv_is_active(reinterpret_cast<const uv_handle_t*>(&state_->handle)) != 0;
    }

  private:
    struct State {
        uv_timer_t handle;
        std::function<void()> callback;
    };
    State* state_;  // outlives us until the loop has let go: a callback may destroy its own timer
};

// Calls back while a descriptor is readable (or at its end), or ready for other events that start()
// was given. Owns the descriptor.
class Poll {
  public:
    Poll(Loop& loop, sys::UniqueFd fd, std::function<void(int fd)> callback)
        : fd_(std::move(fd)), state_(new State{{}, fd_.get(), std::move(callback)}) {
        uv_poll_init(loop.get(), &state_->handle, fd_.get());
        state_->handle.data = state_;
        start();
    }
    ~Poll() {
        uv_close(reinterpret_cast<uv_handle_t*>(&state_->handle),
                 [](uv_handle_t* handle) { delete static_cast<State*>(handle->data); });
    }
    Poll(const Poll&) = delete;
    Poll& operator=(const Poll&) = delete;

    int fd() const { return fd_.get(); }
    void start(int events = UV_READABLE) {
        const auto fire = [](uv_poll_t* poll, int, int) {
            auto* state = static_cast<State*>(poll->data);
            state->callback(state->fd);
        };
        uv_poll_start(&state_->handle, events, fire);
    }
    void stop() { uv_poll_stop(&state_->handle); }
    // Hands the descriptor over, for use once this is destroyed.
    sys::UniqueFd release() { return std::move(fd_); }

  private:
    struct State {
        uv_poll_t handle;
        int fd;
        std::function<void(int)> callback;
    };
    sys::UniqueFd fd_;
    State* state_;  // as in Timer
};

}  // namespace batchai::launcher

// SPDX-License-Identifier: Apache-2.0
//
// Owners of libuv handles: Loop, Timer, Poll. Their destructors close the handle, and the loop
// frees its memory later. All belong to one thread.
#pragma once

#include <uv.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "sys/unique_fd.hpp"

namespace batchai::launcher {

class Loop {
  public:
    Loop() { uv_loop_init(&loop_); }
    ~Loop() {
        uv_run(&loop_, UV_RUN_NOWAIT);  // runs the close callbacks
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

// Calls back after a delay, once or repeatedly.
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
    State* state_;  // freed by the loop, because a callback may destroy its own timer
};

// Time since the start, without the time in which this process was stopped: suspended with its
// Slurm job, or by Ctrl-Z in a terminal. The owner reads the clock at regular intervals. An
// interval that took much longer than expected is counted as a stop.
class ActiveClock {
  public:
    using Duration = std::chrono::steady_clock::duration;

    void restart() { *this = ActiveClock(); }
    // expected: the longest interval since the last reading of a process that was not stopped.
    Duration read(Duration expected) {
        const auto now = std::chrono::steady_clock::now();
        const Duration gap = now - last_;
        last_ = now;
        return time_ += gap > expected + kSlack ? expected : gap;
    }

  private:
    static constexpr std::chrono::seconds kSlack{1};  // for a busy machine

    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
    Duration time_{};
};

// Calls back once, after a delay measured by an ActiveClock.
class ActiveTimer {
  public:
    ActiveTimer(Loop& loop, std::function<void()> callback)
        : callback_(std::move(callback)), tick_(loop, [this] { tick(); }) {}

    void start(std::chrono::milliseconds delay) {
        delay_ = left_ = delay;
        clock_.restart();
        tick_.start(step());
    }
    void stop() {
        if (tick_.active()) look();
        tick_.stop();
    }
    // The rest of the delay. Valid after stop().
    std::chrono::milliseconds left() const { return left_; }

  private:
    std::chrono::milliseconds step() const {
        return std::clamp(left_, std::chrono::milliseconds(1), std::chrono::milliseconds(1000));
    }
    void look() {
        left_ = std::chrono::ceil<std::chrono::milliseconds>(delay_ - clock_.read(step()));
    }
    void tick() {
        look();
        if (left_.count() > 0) return tick_.start(step());
        callback_();
    }

    std::function<void()> callback_;
    ActiveClock clock_;
    std::chrono::milliseconds delay_{}, left_{};
    Timer tick_;
};

// Calls back when a descriptor is readable or at its end, or when the events given to start()
// occur. It owns the descriptor.
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
    // Passes the descriptor to the caller, who must destroy this object before using it.
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

// SPDX-License-Identifier: Apache-2.0
//
// Backoff: how to wait for another process, from one sign of life to the next. Spin for as long as
// a cache line or two take; then give the core away, to the process that is waited for, perhaps;
// then sleep, longer the longer it takes, but never so long that it adds more than an eighth to the
// wait. Sleeping matters where ranks share cores: a scheduler that knows groups of processes gives
// a core away only inside the group.
//
// Where somebody computes on the core who does not wait for anything, giving it away costs all of
// his time slice, milliseconds, for each chunk of a message. A thread that has met him sleeps
// instead for a while: one that wakes up gets the core back at once. So as not to take too much of
// it, such sleeps double.
//
// For the time of the wait, sleeps end when they should: the kernel rounds the ends of a thread's
// sleeps up to its timer slack, commonly 50 us.
#pragma once

#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <chrono>

namespace batchai::coll {

class Backoff {
  public:
    Backoff() = default;
    Backoff(const Backoff&) = delete;
    Backoff& operator=(const Backoff&) = delete;
    ~Backoff() {
        if (slack_ > 0) ::prctl(PR_SET_TIMERSLACK, slack_);
    }

    // Something has happened: the next wait begins.
    void reset() { count_ = 0; }

    void pause() {
        using namespace std::chrono_literals;
        if (count_++ < kSpins) return relax();
        const auto now = Clock::now();
        if (count_ == kSpins + 1) since_ = now;
        const auto waited = now - since_;
        if (now < crowded_until_) {
            sleep(std::clamp<std::chrono::nanoseconds>(waited, 20us, 400us));
        } else if (waited < 200us) {
            ::sched_yield();
            const auto back = Clock::now();
            if (back - now > kSlice) crowded_until_ = back + kCrowded;
        } else {
            sleep(std::min<std::chrono::nanoseconds>(waited / 8, 200us));
        }
    }

  private:
    using Clock = std::chrono::steady_clock;
    static constexpr int kSpins = 10;
    // From which on what has had the core was no rank that waits or copies a chunk.
    static constexpr std::chrono::microseconds kSlice{2000};
    static constexpr std::chrono::milliseconds kCrowded{250};

    static void relax() {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("yield");
#endif
    }

    void sleep(std::chrono::nanoseconds length) {
        if (slack_ == 0) {
            slack_ = ::prctl(PR_GET_TIMERSLACK);
            if (slack_ > 0) ::prctl(PR_SET_TIMERSLACK, 1000);
        }
        const timespec time{0, length.count()};
        ::nanosleep(&time, nullptr);
    }

    static inline thread_local Clock::time_point crowded_until_;  // the core counts as taken
    int count_ = 0;
    int slack_ = 0;  // nanoseconds, as it was; 0: it is as it was
    Clock::time_point since_;
};

}  // namespace batchai::coll

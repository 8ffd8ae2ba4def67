// SPDX-License-Identifier: Apache-2.0
//
// Backoff: how to wait for another process. Spin while that is likely to be short and the other has
// a core of its own; then give the core away; then sleep, longer the longer it takes, but never so
// long that it adds more than an eighth to the wait.
#pragma once

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <chrono>

namespace batchai::coll {

class Backoff {
  public:
    // crowded: there are more ranks than cores.
    explicit Backoff(bool crowded) : spins_(crowded ? 0 : 1000) {}

    void reset() { count_ = 0; }

    void pause() {
        using namespace std::chrono_literals;
        if (count_++ < spins_) return relax();
        const auto now = Clock::now();
        if (count_ == spins_ + 1) since_ = now;
        const auto waited = now - since_;
        if (waited < 200us) {
            ::sched_yield();
            return;
        }
        const auto nap = std::min<std::chrono::nanoseconds>(waited / 8, 500us);
        const timespec time{0, nap.count()};
        ::nanosleep(&time, nullptr);
    }

  private:
    using Clock = std::chrono::steady_clock;

    static void relax() {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("yield");
#endif
    }

    int spins_;
    int count_ = 0;
    Clock::time_point since_;
};

}  // namespace batchai::coll

// SPDX-License-Identifier: Apache-2.0
//
// Backoff: how to wait for another process, from one sign of life to the next. Where looking for it
// takes no system call, spin for as long as a cache line or two take; then give the core away, to
// the process that is waited for, perhaps; then sleep, longer the longer it takes, but never so
// long that it adds more than an eighth to the wait. Sleeping matters where ranks share cores: a
// scheduler that knows groups of processes gives a core away only inside the group. Where what
// comes is known to take long and more of it is under way, sleep at once: others that share the
// core have packets to send.
//
// A thread in the background may share its core with one that computes and does not wait. Giving
// the core to that one costs a time slice, milliseconds, for each chunk of a message. After such a
// slice a background thread sleeps instead, for a while: who wakes up gets the core back at once.
// These sleeps double, so as not to take too much of it, and are not shorter than half of what
// comes is known to take at least.
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
    enum class Thread { in_front, in_background };

    explicit Backoff(Thread thread = Thread::in_front)
        : in_background_(thread == Thread::in_background) {}
    Backoff(const Backoff&) = delete;
    Backoff& operator=(const Backoff&) = delete;
    ~Backoff() {
        if (slack_ > 0) ::prctl(PR_SET_TIMERSLACK, slack_);
    }

    // Whether a thread in the background waits as one in front does.
    void set_forward(bool is_forward) { is_forward_ = is_forward; }

    // Something has happened: the next wait begins.
    void reset() { since_ = {}; }

    // least: that what is waited for takes. spin: for how long to spin.
    void pause(std::chrono::nanoseconds least = {}, std::chrono::nanoseconds spin = {}) {
        using namespace std::chrono_literals;
        const auto now = Clock::now();
        if (since_ == Clock::time_point()) since_ = now;
        const auto waited = now - since_;
        if (waited < spin) return relax();
        const auto late = least < kLong ? 0ns : least / kParts;
        if (!is_forward_ && now < crowded_until_) {
            least = std::min<std::chrono::nanoseconds>(least, 2ms);
            sleep(std::clamp<std::chrono::nanoseconds>(waited, std::max(least / 2, kShortest),
                                                       std::max(least, kLongest)));
        } else if (waited < (late == 0ns ? 200us : late / 16)) {
            ::sched_yield();
            const auto back = Clock::now();
            if (in_background_ && !is_forward_ && back - now > kSlice)
                crowded_until_ = back + kCrowded;
        } else {
            sleep(std::clamp<std::chrono::nanoseconds>(
                waited / 8, late, std::max<std::chrono::nanoseconds>(200us, 2 * late)));
        }
    }

  private:
    using Clock = std::chrono::steady_clock;
    // What takes so long comes from a slow link, in a row of such: a small part of one is no delay.
    static constexpr std::chrono::nanoseconds kLong{500'000};
    static constexpr int kParts = 32;
    // A rank that waits, or copies a chunk, does not keep the core for so long.
    static constexpr std::chrono::microseconds kSlice{2000};
    static constexpr std::chrono::milliseconds kCrowded{250};
    // Where the core is taken.
    static constexpr std::chrono::nanoseconds kShortest{20'000}, kLongest{400'000};

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

    bool in_background_, is_forward_ = false;
    Clock::time_point crowded_until_;  // the core counts as taken
    int slack_ = 0;                    // nanoseconds, as it was; 0: it is as it was
    Clock::time_point since_;          // the first pause of this wait; the epoch: there was none
};

}  // namespace batchai::coll

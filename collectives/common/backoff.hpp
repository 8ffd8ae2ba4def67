// SPDX-License-Identifier: Apache-2.0
//
// Backoff: how to wait for another process, from one check to the next:
//   - Spin for as long as a cache line or two take, if a look takes no system call.
//   - Then yield the core, perhaps to the process that is waited for. A yield that returns at once
//     says that no other thread of the group wants the core: look some times before the next one.
//   - Then sleep, an eighth of the time waited so far. For a short event at most 200 us.
// Sleeping matters if ranks share cores with other processes: a scheduler with groups of processes
// yields a core only inside the group. But a thread in front, whose caller waits for the operation,
// loses its turn on the core if it sleeps, in each step of an operation. So it first yields for
// 5 ms, longer than most time slices. If the event is known to take long and more events of its
// kind follow, sleep at once: other threads on the core have packets to send.
//
// A background thread may share its core with a thread that computes and does not wait. A yield to
// that thread costs a time slice, milliseconds, for each chunk of a message. After such a slice a
// background thread sleeps instead, for a while: a thread that wakes up gets the core at once.
// These sleeps double, so as not to take too much of the core. They last at least half of the
// shortest time that the event is known to take.
//
// From its first sleep to end(), a Backoff lowers the thread's timer slack (commonly 50 us). The
// kernel then does not round the ends of sleeps up.
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
    ~Backoff() { end(); }

    // is_forward: a background thread waits like a foreground thread.
    void set_forward(bool is_forward) { is_forward_ = is_forward; }

    // The event has occurred: the next wait begins.
    void reset() { since_ = {}; }

    // The last wait is over. Call it on the thread that has waited.
    void end() {
        reset();
        if (slack_ > 0) ::prctl(PR_SET_TIMERSLACK, slack_);
        slack_ = 0;
    }

    // least: the shortest time that the event takes. spin: how long to spin.
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
        } else if (waited < (late > 0ns ? late / 16 : in_front() ? kYields : kYieldsBehind)) {
            if (looks_ > 0) return static_cast<void>(--looks_);
            ::sched_yield();
            const auto back = Clock::now();
            looks_ = back - now < kAtOnce ? kLooks : 0;
            if (!in_front() && back - now > kSlice) crowded_until_ = back + kCrowded;
        } else {
            sleep(std::clamp<std::chrono::nanoseconds>(
                waited / 8, late, std::max<std::chrono::nanoseconds>(200us, 2 * late)));
        }
    }

  private:
    using Clock = std::chrono::steady_clock;
    // An event that takes so long is one of many on a slow link. A small part of its time is no
    // delay.
    static constexpr std::chrono::nanoseconds kLong{500'000};
    static constexpr int kParts = 32;
    // A rank that waits, or that copies a chunk, keeps the core for a shorter time.
    static constexpr std::chrono::microseconds kSlice{2000};
    static constexpr std::chrono::milliseconds kCrowded{250};
    static constexpr std::chrono::nanoseconds kAtOnce{1000};
    // How long to yield before the first sleep, for a short event. Behind: a background thread
    // that does not wait like one in front.
    static constexpr std::chrono::microseconds kYields{5000}, kYieldsBehind{200};
    static constexpr int kLooks = 8;  // some microseconds if a check takes a system call
    // Limits of sleeps while another thread keeps the core.
    static constexpr std::chrono::nanoseconds kShortest{20'000}, kLongest{400'000};

    bool in_front() const { return !in_background_ || is_forward_; }

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
    Clock::time_point crowded_until_;  // until then another thread keeps the core
    int looks_ = 0;                    // checks until the next yield
    int slack_ = 0;                    // the thread's own value in nanoseconds; 0: not changed
    Clock::time_point since_;          // the first pause of this wait; the epoch: none yet
};

}  // namespace batchai::coll

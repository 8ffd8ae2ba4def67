// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace emulation {

// A thread that does what it is given, one after the other; all of it, before it ends.
class Worker {
  public:
    Worker() : thread_([this] { run(); }) {}
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;
    ~Worker() {
        {
            const std::scoped_lock held(lock_);
            ends_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }

    void add(std::function<void()> work) {
        const std::scoped_lock held(lock_);
        work_.push_back(std::move(work));
        changed_.notify_all();
    }
    // Whether all is done.
    bool is_idle() {
        const std::scoped_lock held(lock_);
        return work_.empty();
    }
    void wait() {
        std::unique_lock held(lock_);
        changed_.wait(held, [this] { return work_.empty(); });
    }

  private:
    void run() {
        std::unique_lock held(lock_);
        while (true) {
            changed_.wait(held, [this] { return ends_ || !work_.empty(); });
            if (work_.empty()) return;
            const auto& next = work_.front();  // stays there, as others add behind it
            held.unlock();
            next();
            held.lock();
            work_.pop_front();
            changed_.notify_all();
        }
    }

    std::mutex lock_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> work_;
    bool ends_ = false;
    std::thread thread_;  // last, as it uses the others
};

}  // namespace emulation

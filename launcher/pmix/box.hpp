// SPDX-License-Identifier: Apache-2.0
//
// Box: what the library's thread has for the agent. The PMIx library calls the agent on its own
// thread. The upcall puts a job into the box, and the event loop's thread runs the job. The rest of
// the agent is single-threaded.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "launcher/common/event_loop.hpp"

namespace batchai::launcher::pmix {

class Box {
  public:
    using Job = std::function<void()>;

    explicit Box(Loop& loop) : wake_(new uv_async_t) {
        uv_async_init(loop.get(), wake_, [](uv_async_t* wake) {
            if (wake->data != nullptr) static_cast<Box*>(wake->data)->open();
        });
        wake_->data = this;
    }
    // No thread may post when it is destroyed.
    ~Box() {
        wake_->data = nullptr;
        uv_close(reinterpret_cast<uv_handle_t*>(wake_),
                 [](uv_handle_t* handle) { delete reinterpret_cast<uv_async_t*>(handle); });
    }
    Box(const Box&) = delete;
    Box& operator=(const Box&) = delete;

    // May be called on any thread.
    void post(Job job) {
        {
            const std::lock_guard lock(mutex_);
            jobs_.push_back(std::move(job));
        }
        uv_async_send(wake_);
    }

    // Runs the posted jobs now. Call it on the loop's thread, not in a job.
    void open() {
        std::vector<Job> jobs;
        {
            const std::lock_guard lock(mutex_);
            jobs.swap(jobs_);
        }
        for (Job& job : jobs) job();
    }

  private:
    uv_async_t* wake_;
    std::mutex mutex_;
    std::vector<Job> jobs_;
};

}  // namespace batchai::launcher::pmix

// SPDX-License-Identifier: Apache-2.0
//
// Queue: executes named operations in the background. Any thread submits them, in any order. The
// queue executes them in one order for all ranks (dispatcher.hpp). The communicator belongs to the
// queue as long as the queue exists.
//
// One thread at a time drives the dispatcher: the queue's own thread or, while that thread is idle,
// a thread that waits for an operation. The latter saves two thread switches. The lock is held only
// briefly, never during communication.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "collectives/common/backoff.hpp"
#include "collectives/queue/dispatcher.hpp"
#include "collectives/queue/submission_pool.hpp"
#include "collectives/queue/timeline.hpp"

namespace batchai::coll {

// The callers of a queue: whether they are several threads, and what they wait for.
class Callers {
  public:
    // The calling thread is one of them.
    void note();
    bool are_several() const { return several_; }

    void begin_wait() { ++waiting_; }
    void end_wait() { --waiting_; }
    int waiting() const { return waiting_; }

    // A caller waits for a submission; it is blocked while the submission is pending.
    void wait_for(Submission& submission);
    // Call it when the submission is no longer pending, before its state changes.
    void release(const Submission& submission) {
        if (submission.state == Submission::State::pending) blocked_ -= submission.waiters;
    }
    bool are_blocked() const { return blocked_ > 0; }

  private:
    std::thread::id first_;  // the first thread that submitted or waited
    bool several_ = false;
    int waiting_ = 0, blocked_ = 0;
};

class Queue final : private Listener {
  public:
    Queue(Engine& engine, Progress& progress, const Topology& topology,
          const Dispatcher::Options& options);
    // Call halt() or close() first.
    ~Queue() override;

    // Null: an operation with that name has not ended yet. The result is valid until test or wait
    // has reported its end.
    Submission* submit(const Order& order);
    // Only test returns IN_PROGRESS. Otherwise the operation has ended and is deleted. sentence:
    // set to the message of a failure.
    batchai_coll_status test(Submission* submission, std::string& sentence);
    batchai_coll_status wait(Submission* submission, std::string& sentence);
    // Collective: pending operations fail, and all ranks leave. Returns the communicator's failure.
    Failure close();

    // Stops driving, even if operations are in progress. False: a caller's operation does not
    // return.
    bool halt();

    // Starts a new timeline; an empty path ends the current one.
    sys::Result<void> trace(const std::string& path, bool mark_cycles) {
        return trace_.start(path, mark_cycles);
    }

  private:
    void on_agreed(const std::vector<Submission*>& submissions) override;
    void on_ended(const std::vector<Submission*>& together, const Failure* failure) override;
    void on_negotiation(bool begins) override { trace_.on_negotiation(begins); }
    void on_started(const std::vector<Submission*>&, std::size_t bytes) override {
        trace_.on_started(bytes);
    }
    void on_cycle() override { trace_.on_cycle(); }
    void on_stall(const std::string& stall) override;
    void on_tuned(const std::string& setting) override;

    using Lock = std::unique_lock<std::mutex>;

    void work();
    bool sleep(Lock& held);
    // Drives until the submission has ended; null: until the dispatcher is idle.
    void drive(Lock& held, const Submission* submission, Backoff& backoff);
    void take_news();
    void idle(const IdleWait& wait);
    bool is_woken() const;
    void wake();
    void follow_device(Submission& submission);
    batchai_coll_status conclude(Submission* submission, std::string& sentence);

    // Used by the driving thread only.
    Dispatcher dispatcher_;
    Progress& progress_;
    Engine& engine_;
    DeviceMessages* const devices_;
    bool is_awaited_ = false;  // the only caller is waiting

    Trace trace_;
    std::atomic<bool> news_ = false;  // tells the driver that members below have changed
    std::atomic<bool> stop_ = false;

    std::mutex lock_;  // guards the members below
    std::condition_variable woken_, turn_, ended_;
    bool driven_ = false, closed_ = false;
    SubmissionPool pool_;
    Callers callers_;
    // For the driver, and what it has taken of it.
    struct Inbox {
        std::vector<Submission*> submissions;
        std::size_t bytes = 0;
        bool closing = false;
        bool told_closing = false, told_blocked = false;
        IdleWait wait;  // of the next driver
    } inbox_;

    std::thread thread_;
};

}  // namespace batchai::coll

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
#include <string_view>
#include <thread>
#include <unordered_map>

#include "collectives/common/backoff.hpp"
#include "collectives/queue/dispatcher.hpp"
#include "collectives/queue/timeline.hpp"

namespace batchai::coll {

class Queue final : private Listener {
  public:
    // One operation to submit.
    struct Order {
        std::string_view name = {};  // empty: operations are matched in order
        std::string_view text = {};  // must agree on all ranks too; shown in messages
        std::span<const Part> parts = {};
        Run run = nullptr;  // called if there are no parts
        void* argument = nullptr;
        int priority = 0;
        bool join = false;             // as in Submission
        Device::Event mark = nullptr;  // as in Submission
        Device::Stream stream = nullptr;
    };

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
    // Collective: operations in line fail, and all ranks leave. Returns the communicator's failure.
    Failure close();

    // Stops driving, even if operations are in progress. False: a caller's operation does not
    // return.
    bool halt();

    // Starts a new timeline; an empty path ends the current one.
    sys::Result<void> trace(const std::string& path, bool mark_cycles);

  private:
    struct NameHash {
        using is_transparent = void;
        std::size_t operator()(std::string_view name) const {
            return std::hash<std::string_view>()(name);
        }
    };

    void on_agreed(const std::vector<Submission*>& submissions) override;
    void on_ended(const std::vector<Submission*>& together, const Failure* failure) override;
    void on_negotiation(bool begins) override;
    void on_started(const std::vector<Submission*>& together, std::size_t bytes) override;
    void on_cycle() override;
    void on_stall(const std::string& stall) override;
    void on_tuned(const std::string& setting) override;

    using Lock = std::unique_lock<std::mutex>;

    void work();
    bool sleep(Lock& held);
    // Drives until the submission has ended; null: until the dispatcher is idle.
    void drive(Lock& held, const Submission* submission, Backoff& backoff);
    void take_news();
    void rest(const Dispatcher::Rest& rest);
    bool is_rested() const;
    void wake();
    void note_caller();
    Submission* take_unused();
    Submission* take_named(std::string_view name);
    void forget_names();
    void trace_begin(const Submission& submission);
    void trace_end(const Submission& submission, bool was_in_line, Timeline::Clock::time_point now);
    void follow_device(Submission& submission);
    batchai_coll_status conclude(Submission* submission, std::string& sentence);

    // Used by the driving thread only.
    Dispatcher dispatcher_;
    Progress& progress_;
    Engine& engine_;
    DeviceMessages* const devices_;
    Timeline timeline_;
    bool told_closing_ = false;
    bool is_awaited_ = false;  // the only caller is waiting
    Timeline::Clock::time_point round_began_{}, message_began_{};
    std::size_t message_bytes_ = 0;

    std::atomic<bool> news_ = false;  // tells the driver that members below have changed
    std::atomic<bool> stop_ = false;

    std::mutex lock_;  // guards the members below
    std::condition_variable rested_, turn_, ended_;
    bool driven_ = false;
    std::vector<Submission*> inbox_;
    std::size_t inbox_bytes_ = 0;
    std::size_t names_kept_;
    // by name: the last submission
    std::unordered_map<std::string, Submission*, NameHash, std::equal_to<>> names_;
    std::deque<Submission> submissions_;  // all submissions
    std::vector<Submission*> unused_;
    std::uint64_t unnamed_ = 0;
    std::thread::id first_caller_;  // the first thread that submitted or waited
    bool several_callers_ = false;
    int callers_ = 0;  // callers that wait
    int blocked_ = 0;  // callers that wait for operations in line
    bool closing_ = false, closed_ = false;
    Dispatcher::Rest rest_;  // the conditions for which the next driver waits
    bool told_blocked_ = false;

    std::thread thread_;
};

}  // namespace batchai::coll

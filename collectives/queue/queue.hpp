// SPDX-License-Identifier: Apache-2.0
//
// Queue: named operations, submitted from any thread in any order, and done in the background in an
// order that is the same on all ranks (dispatcher.hpp). From its beginning to its end the
// communicator belongs to it.
//
// One thread at a time drives: its own, or one that waits for an operation where its own has
// nothing to do, which saves two changes of thread. The lock is held for moments only, never while
// anything is communicated.
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
    // What is submitted.
    struct Order {
        std::string_view name = {};  // empty: none, it is matched by order
        std::string_view text = {};  // what has to agree beside the tensors, for people
        std::span<const Part> parts = {};
        Run run = nullptr;  // where there are no parts
        void* argument = nullptr;
        int priority = 0;
        bool join = false;             // as in Submission
        Device::Event mark = nullptr;  // as in Submission
        Device::Stream stream = nullptr;
    };

    Queue(Engine& engine, Progress& progress, const Topology& topology,
          const Dispatcher::Options& options);
    // After halt() or close().
    ~Queue() override;

    // Null: an operation of that name has not ended yet. Valid until test or wait has reported its
    // end.
    Submission* submit(const Order& order);
    // Other than IN_PROGRESS, of test only: it has ended and is gone. sentence: of a failure.
    batchai_coll_status test(Submission* submission, std::string& sentence);
    batchai_coll_status wait(Submission* submission, std::string& sentence);
    // Collective: what is in line fails, and all ranks leave. Returns the communicator's failure.
    Failure close();

    // Stops driving, whatever is under way. False: a caller's operation does not return.
    bool halt();

    // Begins a new timeline; an empty path ends one.
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
    // Drives until the submission has ended; null: until there is nothing to do.
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

    // The driver's.
    Dispatcher dispatcher_;
    Progress& progress_;
    Engine& engine_;
    DeviceMessages* const devices_;
    Timeline timeline_;
    bool told_closing_ = false;
    bool is_awaited_ = false;  // the only caller waits
    Timeline::Clock::time_point round_began_{}, message_began_{};
    std::size_t message_bytes_ = 0;

    std::atomic<bool> news_ = false;  // for the driver, in what follows
    std::atomic<bool> stop_ = false;

    std::mutex lock_;  // of what follows
    std::condition_variable rested_, turn_, ended_;
    bool driven_ = false;
    std::vector<Submission*> inbox_;
    std::size_t inbox_bytes_ = 0;
    std::size_t names_kept_;
    // The last one of each name.
    std::unordered_map<std::string, Submission*, NameHash, std::equal_to<>> names_;
    std::deque<Submission> submissions_;  // all that there are
    std::vector<Submission*> unused_;
    std::uint64_t unnamed_ = 0;
    std::thread::id first_caller_;  // threads, that have submitted or waited
    bool several_callers_ = false;
    int callers_ = 0;  // that wait for something
    int blocked_ = 0;  // that wait for what is in line
    bool closing_ = false, closed_ = false;
    Dispatcher::Rest rest_;  // what whoever drives next waits for
    bool told_blocked_ = false;

    std::thread thread_;
};

}  // namespace batchai::coll

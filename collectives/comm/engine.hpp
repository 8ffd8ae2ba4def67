// SPDX-License-Identifier: Apache-2.0
//
// Engine: runs a communicator's operations one after another, in the order of their start. It has
// no thread: every call of the caller makes progress. While an operation makes no progress, the
// engine checks for reports of other ranks and of the watchdog, and for lost connections. It also
// checks for ranks that call another operation, and for the timeout.
//
// The first failure is final: every request ends with it, here and on all other ranks. The failure
// reaches them through the node's memory and the wire.
//
// An operation allocates memory only when it is run for the first time, and never while it waits.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/algorithm/operation.hpp"
#include "collectives/comm/progress.hpp"
#include "collectives/common/backoff.hpp"

namespace batchai::coll {

class Engine {
  public:
    // Valid until test or wait has reported its end.
    struct Request {
        Engine* engine = nullptr;
        Call call = {};
        batchai_coll_status status = BATCHAI_COLL_IN_PROGRESS;
        bool internal = false;                            // no caller waits for its end
        char label[ProgressPage::kLabel] = {};            // the program's label for it
        std::vector<std::size_t> counts, receive_counts;  // the call's
        BlockFacts facts;
        Request* next = nullptr;  // the next request in the queue
    };

    // timeout: how long an operation may make no progress; 0: no limit. patience: how long the
    // engine waits for a watchdog's report of the cause after a lost connection, or after another
    // error that may be a consequence.
    Engine(const Context& context, std::chrono::milliseconds timeout, Progress& progress,
           std::chrono::milliseconds patience = std::chrono::milliseconds(0));
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    // Must not be called after a failure. Copies the call's counts.
    Request* start(const Call& call);
    // Both make progress. Only test returns IN_PROGRESS. Otherwise the request has ended, and the
    // engine may use it again.
    batchai_coll_status test(Request* request);
    batchai_coll_status wait(Request* request);
    // Whether the last test() made progress.
    bool has_moved() const { return moved_; }
    // For operations outside the engine: whether a failure of the job was reported meanwhile. It
    // makes progress on messages, not on operations.
    bool has_failed();
    // Cancels pending messages. The wire may read and write their buffers until it is destroyed.
    void abandon();

    // Pauses after a step without progress.
    void pause(Backoff& backoff) const;

    // The shortest time in which the nodes' links carry an allreduce of so many bytes; 0: one node.
    // The same on all ranks.
    std::chrono::nanoseconds allreduce_time(std::size_t bytes) const;

    // The ranks whose arrival or data the current operation lacks.
    Missing waiting_for() const {
        return current_ == nullptr ? Missing{{}, false} : current_->waiting_for();
    }

    // The status is OK as long as there is no failure.
    const Failure& failure() const { return failure_; }
    // Sets the failure. tell: report it to the other nodes too.
    void fail(const Failure& failure, bool tell);
    // Like fail(), for a failure that may be a consequence of one on other ranks. If it is a system
    // error of this rank (ERR_SYSTEM), it waits for a report of the cause, at most a second.
    void fail_unless_told(const Failure& failure);

  private:
    using Clock = std::chrono::steady_clock;
    static constexpr unsigned kStepsPerWatch = 32;  // reading the clock costs as much as a step
    static constexpr std::chrono::nanoseconds kSpin{500};  // some cache lines between two cores

    Request* take_request();
    void enqueue(Request* request);
    Request* dequeue();
    void end(Request* request, batchai_coll_status status);
    void find_facts(Request* request);
    Operation& operation_for(const Call& call);
    std::chrono::nanoseconds wire_time(double bytes) const;
    std::chrono::nanoseconds chunk_time() const;
    bool begin_first();
    Step advance();
    void complete_head();
    void watch();
    std::optional<Failure> look(bool* told);
    std::optional<Failure> word_here() const;
    std::optional<Failure> word_of_others(bool* told);
    std::optional<Failure> look_for_mismatches();
    std::optional<Failure> look_for_losses();
    void say_what_is_called();
    static std::string describe(const Request& request, std::uint64_t number);
    std::string describe_waiting() const;
    batchai_coll_status conclude(Request* request);
    void give_up_on(std::chrono::nanoseconds idle);

    Context context_;
    std::chrono::milliseconds timeout_, patience_;
    Progress& progress_;
    std::vector<std::unique_ptr<Operation>> kinds_;  // the first one that takes a call executes it

    Operation* current_ = nullptr;  // the operation of first_
    std::uint64_t operations_ = 0, chunks_ = 0;
    Request *first_ = nullptr, *last_ = nullptr;  // ends of the queue
    std::deque<Request> requests_;                // all requests; their addresses do not change
    std::vector<Request*> unused_;

    // On rank 0: the operations that the other nodes have reported.
    struct Entered {
        std::uint64_t operation = 0;
        Signature signature;
        int rank = 0;
    };
    std::vector<Entered> entered_;  // by node; empty on other ranks
    std::uint64_t said_ = 0;        // the last operation that this rank has reported to rank 0

    Backoff backoff_;  // used by wait(); it learns whether other threads need the core
    unsigned idle_steps_ = 0;
    bool moved_ = false;
    std::optional<Clock::time_point> idle_since_;
    std::optional<Clock::time_point> lost_at_;
    Clock::time_point looked_at_{};
    Missing missing_{{}, false};  // of the last check
    Failure failure_;
};

}  // namespace batchai::coll

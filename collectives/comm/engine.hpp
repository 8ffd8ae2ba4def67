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
#include "collectives/comm/reports.hpp"
#include "collectives/common/backoff.hpp"

namespace batchai::coll {

class Engine;

// An operation that a caller has started.
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

// Requests in the order of their start. It reuses their memory.
class RequestQueue {
  public:
    // A request that is not in the queue yet.
    Request* take();
    void put(Request* request);
    Request* first() const { return first_; }
    // Removes the first one and ends it. A caller still has it, unless it is internal.
    void end_first(batchai_coll_status status);
    // No caller has the request any more.
    void give_back(Request* request) { unused_.push_back(request); }

  private:
    Request *first_ = nullptr, *last_ = nullptr;
    std::deque<Request> requests_;  // all requests; their addresses do not change
    std::vector<Request*> unused_;
};

class Engine {
  public:
    // Valid until test or wait has reported its end.
    using Request = coll::Request;

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
    void fail_unless_reported(const Failure& failure);

  private:
    using Clock = std::chrono::steady_clock;
    static constexpr unsigned kStepsPerWatch = 32;  // reading the clock costs as much as a step
    static constexpr std::chrono::nanoseconds kSpin{500};  // some cache lines between two cores

    void find_facts(Request* request);
    Operation& operation_for(const Call& call);
    std::chrono::nanoseconds chunk_time() const;
    bool begin_first();
    Step advance();
    void complete_first();
    batchai_coll_status conclude(Request* request);
    void watch();
    void give_up_on(std::chrono::nanoseconds idle);
    std::string describe_waiting() const;

    Context context_;
    std::chrono::milliseconds timeout_;
    Progress& progress_;
    FailureReports reports_;
    std::vector<std::unique_ptr<Operation>> kinds_;  // the first one that takes a call executes it

    RequestQueue requests_;
    Operation* current_ = nullptr;  // the operation of the first request
    std::uint64_t operations_ = 0, chunks_ = 0;
    Backoff backoff_;  // used by wait(); it learns whether other threads need the core
    bool moved_ = false;
    Failure failure_;

    // Steps without progress, up to kStepsPerWatch, and when they began.
    struct Idle {
        unsigned steps = 0;
        std::optional<Clock::time_point> since;
    } idle_;
    Clock::time_point looked_at_{};
    Missing missing_{{}, false};  // of the last check
};

}  // namespace batchai::coll

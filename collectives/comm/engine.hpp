// SPDX-License-Identifier: Apache-2.0
//
// Engine: runs a communicator's operations one after another, in the order of their start. It has
// no thread: every call of the caller makes progress. If an operation does not move, the engine
// checks for failures that other ranks or the watchdog have reported, for lost connections, for
// ranks that call another operation, and for the timeout.
//
// The first failure holds: every request ends with it, here and on all other ranks, which learn of
// it through the node's memory and the wire.
//
// An operation allocates memory only when it is run for the first time, and never while it waits.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <vector>

#include "collectives/algorithm/allgather.hpp"
#include "collectives/algorithm/allreduce.hpp"
#include "collectives/algorithm/alltoall.hpp"
#include "collectives/algorithm/beside.hpp"
#include "collectives/algorithm/broadcast.hpp"
#include "collectives/algorithm/direct_halves.hpp"
#include "collectives/algorithm/reduce_scatter.hpp"
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
        bool internal = false;                            // no caller asks for its end
        char label[ProgressPage::kLabel] = {};            // the program's label for it
        std::vector<std::size_t> counts, receive_counts;  // the call's
        BlockFacts facts;
        Request* next = nullptr;  // in the queue
    };

    // timeout: without any progress of an operation; 0: none. patience: how long a lost connection,
    // or another error that may be a consequence, waits for a watchdog's report of the cause.
    Engine(const Context& context, std::chrono::milliseconds timeout, Progress& progress,
           std::chrono::milliseconds patience = std::chrono::milliseconds(0));
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    // Only while there is no failure. Copies the call's counts.
    Request* start(const Call& call);
    // Make progress. IN_PROGRESS comes from test only; otherwise the request has ended and is gone.
    batchai_coll_status test(Request* request);
    batchai_coll_status wait(Request* request);
    // Whether the last test() has moved anything.
    bool has_moved() const { return moved_; }
    // Whether direct halves may be of such memory.
    bool carries(Memory memory) const {
        return context_.wire != nullptr && context_.wire->carries(memory);
    }
    // For operations that do not go through the engine: whether a failure of the job was reported
    // meanwhile. Moves messages, not operations.
    bool has_failed();
    // Gives up the messages under way. The wire may read and write their buffers until it is
    // destroyed.
    void abandon();

    // Pauses between two looks, after one without progress.
    void pause(Backoff& backoff) const;

    // The ranks whose arrival or data is missing in the operation under way.
    Missing waiting_for() const {
        return current_ == nullptr ? Missing{{}, false} : current_->waiting_for();
    }

    // Its status is OK while all is well.
    const Failure& failure() const { return failure_; }
    // Sets the failure. tell: report it to the other nodes too.
    void fail(const Failure& failure, bool tell);
    // The same for a failure that may be a consequence of one on other ranks. A system error of
    // this rank (ERR_SYSTEM) waits for a report of the cause, as a lost connection does: for at
    // most a second.
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
    Operation& operation_for(const Signature& signature);
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
    Beside beside_;
    Allreduce allreduce_;
    Broadcast broadcast_;
    Allgather allgather_;
    ReduceScatter reduce_scatter_;
    Alltoall alltoall_;
    DirectHalves direct_halves_;

    Operation* current_ = nullptr;  // runs first_
    std::uint64_t operations_ = 0, chunks_ = 0;
    Request *first_ = nullptr, *last_ = nullptr;  // of the queue
    std::deque<Request> requests_;                // all requests; they do not move
    std::vector<Request*> unused_;

    // On rank 0: the operations that the other nodes have reported.
    struct Entered {
        std::uint64_t operation = 0;
        Signature signature;
        int rank = 0;
    };
    std::vector<Entered> entered_;  // by node; elsewhere empty
    std::uint64_t said_ = 0;        // the last operation that this rank has told rank 0 of

    Backoff backoff_;  // of wait: it learns whether other threads want the core
    unsigned idle_steps_ = 0;
    bool moved_ = false;
    std::optional<Clock::time_point> idle_since_;
    std::optional<Clock::time_point> lost_at_;
    Clock::time_point looked_at_{};
    Missing missing_{{}, false};  // as found by the last look
    Failure failure_;
};

}  // namespace batchai::coll

// SPDX-License-Identifier: Apache-2.0
//
// Negotiation: the rounds in which ranks find out which operations are pending on all of them. A
// rank without pending requests takes part in no round, because no operation could start without
// it.
//
// A round is one allreduce (min) of bytes:
//   - some flags
//   - digests of the requests, with and without their order, each with its complement: their minima
//   match
//     only if all ranks have the same digest
//   - a byte for each operation of the response cache: how often it is pending. Operations without
//     a name may be pending more than once.
// Equal requests start in their own order. If they differ, those start that all ranks have, in the
// order of the cache. The ranks exchange all their requests (judge.hpp), and the cache
// learns their keys, only if
//   - a rank has an operation that is not in the cache, or has joined
//   - two ranks have different operations under one name, or as the first one without a name
//   - no rank can go on.
//
// Cost: a short allreduce; with new keys, also two allgathers.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "collectives/comm/engine.hpp"
#include "collectives/queue/judge.hpp"
#include "collectives/queue/submission.hpp"

namespace batchai::coll {

struct Outcome {
    struct Failed {
        Submission* submission;
        std::string sentence;
    };

    std::vector<Submission*> start;  // in this order, which is the same on all ranks
    std::vector<Failed> fail;
    bool settled = false;  // all ranks wait, and all their requests start
    bool all_closing = false;
    bool judged =
        false;          // ranks have exchanged their requests; the response cache may have changed
    std::string stall;  // the stall report that a rank has asked for
};

class Negotiation {
  public:
    // numbers: the ranks' numbers in messages.
    Negotiation(Engine& engine, const Topology& topology, ResponseCache& cache,
                std::vector<int> numbers);

    struct State {
        bool blocked = false;       // a caller waits for a request, or the rank leaves
        bool stuck = false;         // blocked, and not expected to submit more
        bool closing = false;       // the rank leaves
        bool wants_report = false;  // a request has been pending for too long
    };

    // Begins a round with the current requests.
    void begin(const std::vector<Submission*>& pending, const State& state);
    // Call it after a failure of the engine.
    void abandon() { stage_ = Stage::none; }
    bool under_way() const { return stage_ != Stage::none; }
    // Makes progress, without waiting. done: outcome() is valid until the next begin().
    Step step();
    const Outcome& outcome() const { return outcome_; }

  private:
    enum class Stage { none, voting, counting, reading };

    void vote();
    void count_votes();
    bool finds_disagreement() const;
    bool unnamed_ones_differ() const;
    void start_ready();
    void take_part(const std::string& key);
    void say_length();
    void say_requests();
    void read_requests();
    void learn(const std::vector<PendingRequests>& requests);
    void sort_by_priority();

    Engine& engine_;
    const Topology& topology_;
    ResponseCache& cache_;
    std::vector<int> numbers_;

    Stage stage_ = Stage::none;
    Engine::Request* request_ = nullptr;
    std::vector<Submission*> pending_;
    bool joined_ = false;
    std::uint64_t seen_ = 0;   // rounds with verdicts since this rank joined
    std::deque<Zeros> zeros_;  // of the last round
    State state_;
    std::vector<std::uint8_t> votes_;
    std::string own_, everything_;
    std::vector<std::size_t> lengths_;
    Outcome outcome_;
};

}  // namespace batchai::coll

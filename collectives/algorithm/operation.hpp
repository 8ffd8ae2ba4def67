// SPDX-License-Identifier: Apache-2.0
//
// Operation: a running collective on this rank, as a state machine. The engine calls step() until
// the operation is done. A step never waits.
#pragma once

#include <memory>
#include <optional>

#include "collectives/algorithm/planner.hpp"
#include "collectives/common/call.hpp"
#include "collectives/common/topology.hpp"
#include "collectives/reduce/kernels.hpp"
#include "collectives/transport/fault.hpp"
#include "collectives/transport/reader.hpp"
#include "collectives/transport/regions.hpp"
#include "collectives/transport/shm.hpp"
#include "collectives/transport/wire.hpp"

namespace batchai::coll {

// The environment of operations.
struct Context {
    const Topology& topology;
    Node& node;
    Wire* wire;  // null with one node, and on ranks without a rail
    Planner planner = {};
    const Regions* regions = nullptr;
    const Node* job = nullptr;       // in a part of the job: the Node of the job's communicator
    FaultPoint* fault = nullptr;     // for tests
    const Reader* reader = nullptr;  // null unless all ranks of the only node can read each other
    std::optional<bool> goes_in_place = {};  // for tests; none: the faster way

    // The chunk of an operation that combines a message of so many bytes.
    std::size_t chunk_bytes(std::size_t message) const {
        return chunk_of_message(message, topology.chunk_bytes(false), node.slot_bytes());
    }
    // The shortest time in which the nodes' links carry so many bytes; 0: one node. It was measured
    // with all rails busy, and they share the bytes.
    std::chrono::nanoseconds wire_time(double bytes) const {
        const double seconds = bytes / topology.rails() * planner.link().per_byte;
        return std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
    }
};

enum class Step { idle, moved, done, failed };

struct Missing {
    std::vector<int> ranks;  // empty: unknown
    bool certain;            // false: the culprit may be a neighbour of these ranks
};

class Operation {
  public:
    explicit Operation(Context& context) : context_(context) {}
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;
    virtual ~Operation() = default;

    // Whether it executes this call. The engine asks the kinds of operations in a fixed order.
    virtual bool takes(const Call& call) const = 0;
    // number: counts the communicator's operations, from 1. chunk: the chunks that they have used.
    virtual void begin(const Call& call, std::uint64_t number, std::uint64_t chunk) = 0;
    virtual Step step() = 0;
    // Chunks that this operation has used. Call it after the operation is done.
    virtual std::uint64_t chunks() const = 0;
    // Sets `missing` to the ranks whose arrival or data is missing. Reuses its memory.
    virtual void find_missing(Missing& missing) const = 0;
    Missing waiting_for() const {
        Missing missing{{}, false};
        find_missing(missing);
        return missing;
    }
    // Cancels pending messages, after a failure.
    virtual void abandon() = 0;
    // The reason why step() has failed.
    const Failure& failure() const { return failure_; }
    Tag tag() const { return Tag::of(number_, call_.signature); }
    const Call& call() const { return call_; }

  protected:
    enum class Agreement { waiting, reached, broken };
    // Checks the local ranks that have entered since the last call.
    Agreement agree();
    void enter(const Call& call, std::uint64_t number, std::span<const std::byte> data = {});
    // Sets the failure of step().
    void fail(const Failure& failure) { failure_ = failure; }
    // Ranks of this node that have not entered.
    void find_absent(Missing& missing) const;
    // The factors and the divisor of a reduction.
    Scale scale() const {
        const Signature& signature = call_.signature;
        return {signature.before, signature.after,
                signature.op == BATCHAI_COLL_AVERAGE ? context_.topology.size : 1};
    }
    int local_root() const {  // of a broadcast's root; -1 on other nodes
        const int root = call_.signature.root;
        const Topology& topology = context_.topology;
        return topology.node_of[root] == topology.node() ? topology.local_of[root] : -1;
    }

    Context& context_;
    Call call_;
    std::uint64_t number_ = 0;

  private:
    int arrived_ = 0;  // local ranks 0 .. arrived_ - 1 have entered and agree
    Failure failure_;
};

// The kinds of operations. Each has a source of its own, which says how it works and what it costs.
std::unique_ptr<Operation> make_allgather(Context& context);
std::unique_ptr<Operation> make_allreduce(Context& context);
std::unique_ptr<Operation> make_alltoall(Context& context);
std::unique_ptr<Operation> make_beside(Context& context);
std::unique_ptr<Operation> make_broadcast(Context& context);
std::unique_ptr<Operation> make_reduce_scatter(Context& context);

// "rank 3", "ranks 2, 5 or a neighbour".
std::string describe(const Missing& missing);

}  // namespace batchai::coll

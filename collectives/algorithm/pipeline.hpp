// SPDX-License-Identifier: Apache-2.0
//
// Pipeline: the sequence of stages that operations on long messages share. The buffers stream
// through the slots of the node's shared memory in chunks, each in four stages:
//
//   copy in    this rank's data of the chunk, into its in slot
//   work       the rank's share of the node's work, and the start of its exchange with other nodes
//   exchange   between the nodes, on the rails, several chunks at a time
//   copy out   the chunk's result, into the receive buffer
//
// A step tries every stage once, so stages of different chunks overlap. While one chunk is on the
// wire, the next is reduced and the one before is copied out. Only copy in may begin before all
// ranks of the node have entered the operation with the same signature. So a message from a node
// means that the whole node agrees.
//
// Derived classes define the stages. k counts an operation's chunks from 0.
#pragma once

#include <array>
#include <atomic>

#include "collectives/algorithm/exchange.hpp"
#include "collectives/algorithm/faster.hpp"
#include "collectives/algorithm/operation.hpp"

namespace batchai::coll {

static_assert(kSlots <= Tag::kSlots);

class Pipeline : public Operation {
  public:
    using Operation::Operation;

    void begin(const Call& call, std::uint64_t number, std::uint64_t chunk) final;
    Step step() final;
    std::uint64_t chunks() const final { return chunks_; }
    void find_missing(Missing& missing) const final;
    void abandon() final;

  protected:
    // Data about the call that the other ranks of the node get with its signature.
    virtual std::span<const std::byte> beside(const Call&) { return {}; }
    // The number of chunks that call_ takes, at least 1.
    virtual std::uint64_t plan() = 0;
    // Whether copy in must wait until all ranks of the node have entered.
    virtual bool waits_for_all() const { return false; }
    // All ranks of the node have entered. Returns the final number of chunks. It may differ from
    // plan() only if waits_for_all().
    virtual std::uint64_t plan_with_all() { return chunks_; }
    // A step through the stages.
    virtual Step step_stages();
    virtual void copy_in(std::uint64_t k) = 0;
    // Whether the inputs of work(k) are complete. This rank has copied in.
    virtual bool can_work(std::uint64_t k) = 0;
    // Returns the exchange that it has started; null: none.
    virtual Exchange* work(std::uint64_t k) = 0;
    // Runs after the exchange.
    virtual void finish(std::uint64_t) {}
    virtual bool can_copy_out(std::uint64_t k) = 0;
    virtual void copy_out(std::uint64_t k) = 0;
    // Called after the last chunk. False: wait for the failure that will certainly be reported.
    virtual bool may_end() { return true; }

    // From so many bytes on, results bypass the caches. Allreduces in place do not: the caches have
    // their lines already.
    static constexpr std::size_t kStreamFrom = Faster::kPastCaches;

    // Whether this rank would go in place, or read, rather than through slots (Faster::prefers).
    bool prefers_in_place(std::size_t bytes, bool measures = true) {
        const bool measured = faster_.prefers(bytes, measures);
        return context_.goes_in_place.value_or(measured);
    }

    Node& node() const { return context_.node; }
    const Topology& topology() const { return context_.topology; }
    // The communicator's number of chunk k, for slots and counters.
    std::uint64_t at(std::uint64_t k) const { return base_ + k + 1; }
    static int slot(std::uint64_t chunk) { return static_cast<int>(chunk % kSlots); }
    // Calls `with` for each rank of the node that this rail serves. Rail r of R rails serves local
    // ranks r, r + R, r + 2R, ... So each rank belongs to a rail, also if nodes have different
    // numbers of ranks.
    template <class With>
    void for_served(int n, With with) const {
        const std::vector<int>& ranks = topology().members[n];
        for (std::size_t r = node().rank(); r < ranks.size(); r += topology().rails()) {
            with(ranks[r]);
        }
    }
    // Call it before an operation ends in which ranks read each other's buffers in place. After a
    // failure on a rank, its program may have overwritten its data before all ranks had read it.
    // The rank reports the failure before it returns to its program.
    bool none_failed() const {
        std::atomic_thread_fence(std::memory_order_acquire);
        return !node().failed();
    }
    // Whether local ranks 0 .. reducers - 1 have all reduced the chunk.
    bool all_reduced(std::uint64_t k, int reducers) const;

    Faster faster_;           // for operations that may go in place
    bool streaming_ = false;  // copies to the receive buffer bypass the caches; plan() sets it

  private:
    bool try_copy_in();
    bool try_work();
    bool try_exchange();
    bool try_copy_out();

    std::uint64_t base_ = 0, chunks_ = 0;
    std::uint64_t copied_ = 0, worked_ = 0, finished_ = 0, delivered_ = 0;  // chunks past a stage
    std::array<Exchange*, kSlots> exchanges_{};
    bool agreed_ = false;
};

}  // namespace batchai::coll

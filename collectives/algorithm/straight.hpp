// SPDX-License-Identifier: Apache-2.0
//
// Straight: the base of Broadcast, Allgather and Alltoall. On one node, long blocks need no slots
// if they lie in memory that all ranks can address (Regions). Each rank publishes the place of its
// send buffer when it enters, and hands the buffer over with all data that it has written there.
// The others copy their blocks straight from it. A rank stores `reduced` when it has copied all of
// its blocks, and ends when all ranks have stored it: then no rank reads its buffer any more. On
// one node a rank's number in the node is its rank.
//
// Cost for S bytes that a rank gets: S / Bi. Through slots an all-to-all costs 2 S / Bi, and an
// allgather (1 + 1/G) S / Bi. Bi: bandwidth of another core's cache, or of memory.
#pragma once

#include <span>
#include <vector>

#include "collectives/algorithm/pipeline.hpp"
#include "collectives/transport/regions.hpp"

namespace batchai::coll {

class Straight : public Pipeline {
  public:
    explicit Straight(Context& context) : Pipeline(context), sends_(context.node.size()) {}

    Step step() final;

  protected:
    // Whether the block that this rank gets has the same place in every rank's buffer.
    virtual bool knows_places(const Call&) const { return true; }
    // Bytes that this rank sends, if it knows the places; 0: none.
    virtual std::size_t sent(const Call&) const = 0;
    // The longest block, in bytes.
    virtual std::size_t longest() const = 0;
    // Copies a piece of every block that this rank gets, kPiece bytes or less of each.
    virtual void take(std::uint64_t piece) = 0;

    static constexpr std::size_t kPiece = 256u << 10;

    // The send buffer of a local rank.
    const std::byte* send(int rank) const { return sends_[rank]; }
    bool may_end() override { return !is_straight_ || none_failed(); }

  private:
    static constexpr std::size_t kFrom = 32u << 10;  // bytes; shorter messages use slots

    struct Offer {
        Regions::Place place;
        bool sends = false;
    };

    std::span<const std::byte> beside(const Call& call) final;
    bool waits_for_all() const final;
    std::uint64_t plan_with_all() final;

    Offer own_;
    bool is_straight_ = false;
    std::uint64_t pieces_ = 0, taken_ = 0;
    std::vector<const std::byte*> sends_;  // by local rank; null: it sends nothing
};

}  // namespace batchai::coll

// SPDX-License-Identifier: Apache-2.0
//
// Straight: the base of Broadcast, Allgather and Alltoall. On one node, long blocks need no slots
// if every rank's send buffer lies in memory that all ranks can address (Regions), or if the ranks
// can read each other's memory (Reader). Each rank publishes the place and the address of its send
// buffer when it enters, and hands the buffer over with all data that it has written there. The
// others copy their blocks straight from it. A rank stores `reduced` when it has copied all of its
// blocks, and ends when all ranks have stored it: then no rank reads its buffer any more. On one
// node a rank's number in the node is its rank.
//
// They do so if all ranks that get blocks find it faster than slots (Faster), and always with
// regions past the caches.
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

  protected:
    // Whether the block that this rank gets has the same place in every rank's buffer.
    virtual bool knows_places(const Call&) const { return true; }
    // Bytes that this rank sends, if it knows the places; 0: none.
    virtual std::size_t sent(const Call&) const = 0;
    // Whether this rank gets blocks of other ranks. If not, it says nothing of the faster way.
    virtual bool gets_blocks(const Call&) const { return true; }
    // Bytes of all blocks that a rank gets, and how many blocks these are: the same on all ranks.
    virtual std::size_t total(const Call& call) const = 0;
    virtual int blocks() const { return topology().size; }
    // The longest block, in bytes.
    virtual std::size_t longest() const = 0;
    // Takes a piece of every block that this rank gets, of at most so many bytes each.
    virtual void take(std::size_t per_piece, std::uint64_t piece) = 0;

    // Copies bytes of a local rank's send buffer, which are `offset` bytes behind its start.
    void copy_from(int rank, std::size_t offset, std::byte* to, std::size_t bytes);
    bool may_end() override { return !is_straight_ || none_failed(); }

  private:
    static constexpr std::size_t kFrom = 32u << 10;  // bytes of all blocks; shorter ones use slots
    // Bytes that one step takes: of each block in regions; of all blocks together that it reads,
    // because each read is a system call.
    static constexpr std::size_t kPiece = 256u << 10, kReadPieces = 8u << 20;

    struct Offer {
        Regions::Location location;
        const std::byte* address = nullptr;  // in the rank's process
        bool sends = false;
        bool is_readable = false;  // by the others' Readers
        bool prefers = false;      // in place, or to read, rather than slots
    };
    struct Source {
        const std::byte* address = nullptr;
        bool is_here = true;  // an address in this process
    };

    std::span<const std::byte> beside(const Call& call) final;
    bool waits_for_all() const final;
    std::uint64_t plan_with_all() final;
    Step step_stages() final;
    Step step_straight();

    Offer own_;
    bool may_be_straight_ = false, past_caches_ = false;
    bool is_straight_ = false;
    bool is_gone_ = false;  // a process that this rank has tried to read
    std::uint64_t pieces_ = 0, taken_ = 0;
    std::size_t per_piece_ = 0;
    std::vector<Source> sends_;  // by local rank
};

}  // namespace batchai::coll

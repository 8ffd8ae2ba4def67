// SPDX-License-Identifier: Apache-2.0
//
// Allgather, of blocks of equal or different lengths. Every rank's block streams through the rank's
// in slot, from which its neighbours copy it, or they copy it straight from the rank's buffer
// (straight.hpp). Between nodes, rail r of R rails carries the blocks
// of local ranks r, r + R, r + 2R, ... It delivers them into the out slots of the other nodes, at
// place x for rank x. So all blocks are carried, also if nodes have different numbers of ranks.
//
// Cost: see swap.hpp. Chunks shrink with the number of ranks, because a slot must hold the blocks
// of all ranks. The longest block decides the number of chunks.
#pragma once

#include "collectives/algorithm/blocks.hpp"
#include "collectives/algorithm/straight.hpp"
#include "collectives/algorithm/swap.hpp"

namespace batchai::coll {

class Allgather final : public Straight {
  public:
    using Straight::Straight;

  protected:
    std::uint64_t plan() override;
    void copy_in(std::uint64_t k) override;
    bool can_work(std::uint64_t k) override;
    Exchange* work(std::uint64_t k) override;
    bool can_copy_out(std::uint64_t k) override;
    void copy_out(std::uint64_t k) override;
    std::size_t sent(const Call& call) const override;
    std::size_t total(const Call& call) const override;
    std::size_t longest() const override { return blocks_.longest(); }
    void take(std::size_t per_piece, std::uint64_t piece) override;

  private:
    // The bytes of chunk k of a rank's block, as a range of the receive buffer.
    Range chunk(int rank, std::uint64_t k) const { return blocks_.chunk(rank, per_chunk_, k); }
    // The place of a rank's chunk in this node's memory.
    std::byte* place(int rank, std::uint64_t k) const;

    Blocks blocks_;  // in bytes
    std::size_t per_chunk_ = 0;
    std::array<Swap, kSlots> swaps_;
};

}  // namespace batchai::coll

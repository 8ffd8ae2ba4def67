// SPDX-License-Identifier: Apache-2.0
//
// Allgather, of blocks of equal or different lengths: every rank's block streams through its in
// slot, from which its neighbours copy it. Between the nodes, rail r carries the blocks of local
// ranks r, r + R, r + 2R, ... (R rails, so all blocks of unequal nodes are carried) into the out
// slots of the other nodes, where rank x has its place x.
//
// Cost: see swap.hpp. Chunks shrink with the number of ranks, as the blocks of all have to fit a
// slot; as many chunks are needed as the longest block has.
#pragma once

#include "collectives/algorithm/blocks.hpp"
#include "collectives/algorithm/pipeline.hpp"
#include "collectives/algorithm/swap.hpp"

namespace batchai::coll {

class Allgather final : public Pipeline {
  public:
    using Pipeline::Pipeline;

  protected:
    std::uint64_t plan() override;
    void copy_in(std::uint64_t k) override;
    bool can_work(std::uint64_t k) override;
    Exchange* work(std::uint64_t k) override;
    bool can_copy_out(std::uint64_t k) override;
    void copy_out(std::uint64_t k) override;

  private:
    // Of the receive buffer, in bytes.
    Range chunk(int rank, std::uint64_t k) const { return blocks_.chunk(rank, per_chunk_, k); }
    // Where the chunk of a rank is, in this node's memory.
    std::byte* place(int rank, std::uint64_t k) const;

    Blocks blocks_;  // of bytes
    std::size_t per_chunk_ = 0;
    std::array<Swap, kSlots> swaps_;
};

}  // namespace batchai::coll

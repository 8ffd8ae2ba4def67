// SPDX-License-Identifier: Apache-2.0
//
// Allgather: every rank's block streams through its in slot, from which its neighbours copy it.
// Between the nodes, rail r carries the blocks of local ranks r, r + R, r + 2R, ... (R rails, so
// all blocks of unequal nodes are carried) into the out slots of the other nodes, where rank x has
// its place x.
//
// Cost: see swap_all.hpp. Chunks shrink with the number of ranks, as the blocks of all have to fit
// a slot.
#pragma once

#include "collectives/algorithm/pipeline.hpp"
#include "collectives/algorithm/swap_all.hpp"

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
    Range chunk(std::uint64_t k) const { return chunk_of(bytes_, per_chunk_, k); }
    // Where the chunk of a rank is, in this node's memory.
    std::byte* place(int rank, std::uint64_t k) const;

    std::size_t bytes_ = 0, per_chunk_ = 0;  // of a rank's block
    std::array<SwapAll, kSlots> swaps_;
};

}  // namespace batchai::coll

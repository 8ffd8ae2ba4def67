// SPDX-License-Identifier: Apache-2.0
//
// Reduce-scatter, of blocks of equal or different lengths: rank r gets the reduction of all ranks'
// block r. A chunk in a slot holds a piece of every block, rank r's at place r.
//
// On one node every rank combines its pieces from the in slots, straight into its receive buffer.
// Between nodes, rail k works for local ranks k, k + R, k + 2R, ... (R rails) of every node: it
// combines its node's pieces for them, in the out slot, and sends them to its counterparts. It then
// combines their pieces for its own node's ranks, in the canonical tree's order.
//
// Cost for S bytes of all blocks, N nodes, R rails: the larger of (2 + 1/G) S / Bi in the node and
// a + (N-1)/N S / (R Be) between the nodes, which is the lower bound (see swap.hpp).
#pragma once

#include "collectives/algorithm/blocks.hpp"
#include "collectives/algorithm/pipeline.hpp"
#include "collectives/algorithm/swap.hpp"
#include "collectives/reduce/tree.hpp"

namespace batchai::coll {

class ReduceScatter final : public Pipeline {
  public:
    explicit ReduceScatter(Context& context);

  protected:
    std::uint64_t plan() override;
    void copy_in(std::uint64_t k) override;
    bool can_work(std::uint64_t k) override;
    Exchange* work(std::uint64_t k) override;
    void finish(std::uint64_t k) override;
    bool can_copy_out(std::uint64_t k) override;
    void copy_out(std::uint64_t k) override;

  private:
    // The bytes of chunk k of a rank's block, as a range of the send buffer.
    Range chunk(int rank, std::uint64_t k) const { return blocks_.chunk(rank, per_chunk_, k); }
    std::size_t place(int rank) const { return static_cast<std::size_t>(rank) * per_chunk_; }
    // Writes the node's partial result for a rank into `out`.
    void combine(int rank, std::uint64_t k, const Scale& scale, std::byte* out);

    Reduction reduction_;
    Blocks blocks_;  // in bytes
    std::size_t per_chunk_ = 0;
    std::vector<const void*> inputs_;         // by local rank
    std::vector<const std::byte*> partials_;  // by node
    std::array<Swap, kSlots> swaps_;
    // The pieces of other nodes: for each rank that this rail serves, one piece of each node.
    std::array<std::vector<std::byte>, kSlots> scratch_;
    std::vector<std::byte> tree_scratch_;
};

}  // namespace batchai::coll

// SPDX-License-Identifier: Apache-2.0
//
// Recursive doubling: in round i a node swaps its partial result with the one 2^i away and both
// combine them, left before right, so that all have the canonical tree's result after log2 N
// rounds. Where N is not a power of two, p < N, the first N - p pairs of nodes fold: one hands its
// data to the other before the rounds and gets the result after them.
//
// Cost for m bytes: log2 p * (a + m b), and 2 (a + m b) more with folding. The best for short
// messages and for two nodes.
//
// Source: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in
// MPICH", IJHPCA 19(1), 2005. Rounds go by growing distance, which makes the tree balanced in node
// order.
#pragma once

#include <bit>

#include "collectives/algorithm/exchange.hpp"
#include "collectives/reduce/tree.hpp"

namespace batchai::coll {

class RecursiveDoubling final : public Exchange {
  public:
    static double cost(int nodes, std::size_t bytes) {
        const Leaves leaves(nodes);
        const int rounds =
            std::countr_zero(static_cast<unsigned>(leaves.count)) + (leaves.folded > 0 ? 2 : 0);
        return rounds * (LinkCost::kLatency + static_cast<double>(bytes) * LinkCost::kPerByte);
    }

    // data: this node's partial result, then the result; scratch: as large.
    void start(Wire& wire, Tag tag, int slot, int node, int nodes, const Reduction& reduction,
               std::byte* data, std::byte* scratch, std::size_t count);

  protected:
    bool advance() override;

  private:
    enum class Stage { fold, unfolded, round, combine, unfold, end };

    bool fold();
    bool swap();
    void combine(bool other_is_left);

    Reduction reduction_;
    std::byte *data_ = nullptr, *scratch_ = nullptr;
    std::size_t count_ = 0, bytes_ = 0;
    Leaves leaves_{1};
    int node_ = 0, leaf_ = 0;
    int distance_ = 1;
    Stage stage_ = Stage::end;
};

}  // namespace batchai::coll

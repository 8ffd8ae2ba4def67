// SPDX-License-Identifier: Apache-2.0
//
// Recursive doubling: in round i a node swaps its partial result with the one 2^i away and both
// combine them, left before right, so that all have the canonical tree's result after log2 N
// rounds (folded.hpp: where N is not a power of two).
//
// Cost for m bytes, or 2 m where they travel wide: log2 p * (a + o + m b), and 2 (a + o + m b) more
// with folding, in which nothing is wide. The best for short messages and for two nodes.
//
// Source: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in
// MPICH", IJHPCA 19(1), 2005. Rounds go by growing distance, which makes the tree balanced in node
// order.
#pragma once

#include <bit>

#include "collectives/algorithm/folded.hpp"

namespace batchai::coll {

class RecursiveDoubling final : public Folded {
  public:
    static double cost(const Link& link, int nodes, const Reduction& reduction, std::size_t count) {
        const int rounds = std::countr_zero(static_cast<unsigned>(Leaves(nodes).count));
        const std::size_t wide = widens(nodes) ? reduction.wide : reduction.element;
        return rounds * link.message(count * wide) +
               folding_cost(link, nodes, count * reduction.element);
    }

  private:
    bool next_round() override;
    void combine();

    int distance_ = 0;  // of the round under way; 0: none
};

}  // namespace batchai::coll

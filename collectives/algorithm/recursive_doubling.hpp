// SPDX-License-Identifier: Apache-2.0
//
// Recursive doubling: in round i, a node swaps its partial result with the node 2^i away, and both
// combine the two, left before right. So all have the canonical tree's result after log2 N rounds.
// folded.hpp handles numbers of nodes that are not a power of two.
//
// Cost for m bytes (2 m if they are sent wide): log2 p * (a + o + m b). Folding adds 2 (a + o + m
// b), in which nothing is wide. It is the best for short messages and for two nodes.
//
// Source: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in
// MPICH", IJHPCA 19(1), 2005. The distance grows with each round, which makes the tree balanced in
// node order.
#pragma once

#include <bit>
#include <utility>

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

    int distance_ = 0;  // of the current round; 0: none
};

inline void RecursiveDoubling::combine() {
    const void* inputs[] = {own_, other_};
    if ((leaf_ & distance_) != 0) std::swap(inputs[0], inputs[1]);
    if (2 * distance_ == leaves()) {
        reduction_.finish(data_, inputs, 2, count_, scale_);
    } else {
        reduction_.carry(own_, inputs, 2, count_, {});
    }
}

inline bool RecursiveDoubling::next_round() {
    if (distance_ > 0) combine();
    distance_ = distance_ == 0 ? 1 : 2 * distance_;
    if (distance_ == leaves()) {
        distance_ = 0;
        return false;
    }
    const int other = node_of(leaf_ ^ distance_);
    const int step = kRound + std::countr_zero(static_cast<unsigned>(distance_));
    receive(other, step, other_, count_ * reduction_.wide);
    send(other, step, own_, count_ * reduction_.wide);
    return true;
}

}  // namespace batchai::coll

// SPDX-License-Identifier: Apache-2.0
//
// Halving and doubling: a reduce-scatter by halves, then an allgather that takes the same way back.
// In round i of the first, a node and the node 2^i away each keep one half of the data that they
// share. Each combines its half, left before right. The distances grow, unlike in the textbook, so
// that the tree is the canonical one. folded.hpp handles numbers of nodes that are not a power of
// two.
//
// Cost for m bytes on p nodes: 2 log2 p (a + o) + 2 (p-1)/p m b. The first half of the bytes count
// twice if they are sent wide. Folding adds 2 (a + o + m b). It sends as few bytes as direct.hpp,
// with fewer messages: for many nodes, or networks that do not take N-1 messages at once.
//
// Source: Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004.
#pragma once

#include <bit>

#include "collectives/algorithm/folded.hpp"
#include "collectives/common/chunking.hpp"

namespace batchai::coll {

class HalvingDoubling final : public Folded {
  public:
    static double cost(const Link& link, int nodes, const Reduction& reduction, std::size_t count) {
        const int leaves = Leaves(nodes).count;
        const int rounds = std::countr_zero(static_cast<unsigned>(leaves));
        const std::size_t wide = widens(nodes) ? reduction.wide : reduction.element;
        const double share = (leaves - 1.0) / leaves * static_cast<double>(count);
        return 2 * rounds * link.message(0) +
               share * static_cast<double>(wide + reduction.element) * link.per_byte +
               folding_cost(link, nodes, count * reduction.element);
    }

  private:
    // Parts of the data, one per leaf: [first, end).
    struct Parts {
        int first, end;
    };

    bool next_round() override;
    bool scatter();
    bool gather();
    void combine();
    // The parts that this leaf, or the leaf at `distance`, has after the round of that distance.
    Parts after(int leaf, int distance) const;
    Range elements(Parts parts) const;

    int distance_ = 0;  // of the current round; 0: none
    bool gathers_ = false;
};

}  // namespace batchai::coll

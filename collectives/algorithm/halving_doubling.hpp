// SPDX-License-Identifier: Apache-2.0
//
// Halving and doubling: a reduce-scatter by halves, then an allgather that takes the same way back.
// In round i of the first a node and the one 2^i away each keep one half of what they still share
// and combine it, left before right: the distances grow, unlike in the textbook, so that the tree
// is the canonical one. Where the number of nodes is not a power of two: folded.hpp.
//
// Cost for m bytes on p nodes: 2 log2 p (a + o) + 2 (p-1)/p m b, where the first half of the bytes
// count twice if they travel wide, and 2 (a + o + m b) more with folding. As few bytes as
// direct.hpp with fewer messages: for many nodes, or networks that do not take N-1 messages at
// once.
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
    // Parts of the data, one for each leaf: [first, end).
    struct Parts {
        int first, end;
    };

    bool next_round() override;
    bool scatter();
    bool gather();
    void combine();
    // The parts of this leaf, or of the one at `distance`, after the round of that distance.
    Parts after(int leaf, int distance) const;
    Range elements(Parts parts) const;

    int distance_ = 0;  // of the round under way; 0: none
    bool gathers_ = false;
};

}  // namespace batchai::coll

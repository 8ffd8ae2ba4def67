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
#include <utility>

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

inline HalvingDoubling::Parts HalvingDoubling::after(int leaf, int distance) const {
    Parts parts{0, leaves()};
    for (int d = 1; d <= distance; d *= 2) {
        const int middle = (parts.first + parts.end) / 2;
        ((leaf & d) == 0 ? parts.end : parts.first) = middle;
    }
    return parts;
}

inline Range HalvingDoubling::elements(Parts parts) const {
    return {part_of(count_, reduction_.element, parts.first, leaves()).begin,
            part_of(count_, reduction_.element, parts.end - 1, leaves()).end};
}

inline bool HalvingDoubling::next_round() {
    if (gathers_) return gather();
    if (distance_ > 0) combine();
    return scatter();
}

inline void HalvingDoubling::combine() {
    const Range own = elements(after(leaf_, distance_));
    std::byte* wide = own_ + own.begin * reduction_.wide;
    const void* inputs[] = {wide, other_};
    if ((leaf_ & distance_) != 0) std::swap(inputs[0], inputs[1]);
    if (2 * distance_ == leaves()) {
        std::byte* out = data_ + own.begin * reduction_.element;
        reduction_.finish(out, inputs, 2, own.size(), scale_);
    } else {
        reduction_.carry(wide, inputs, 2, own.size(), {});
    }
}

inline bool HalvingDoubling::scatter() {
    distance_ = distance_ == 0 ? 1 : 2 * distance_;
    if (distance_ == leaves()) {
        gathers_ = true;
        return gather();
    }
    const int other = leaf_ ^ distance_;
    const int step = kRound + std::countr_zero(static_cast<unsigned>(distance_));
    const Range keep = elements(after(leaf_, distance_)), give = elements(after(other, distance_));
    receive(node_of(other), step, other_, keep.size() * reduction_.wide);
    send(node_of(other), step, own_ + give.begin * reduction_.wide, give.size() * reduction_.wide);
    return true;
}

inline bool HalvingDoubling::gather() {
    distance_ /= 2;
    if (distance_ == 0) {
        gathers_ = false;
        return false;
    }
    const int other = leaf_ ^ distance_;
    const int step = kRound + std::countr_zero(static_cast<unsigned>(distance_));
    const Range have = elements(after(leaf_, distance_)), get = elements(after(other, distance_));
    receive(node_of(other), step, data_ + get.begin * reduction_.element,
            get.size() * reduction_.element);
    send(node_of(other), step, data_ + have.begin * reduction_.element,
         have.size() * reduction_.element);
    return true;
}

}  // namespace batchai::coll

// SPDX-License-Identifier: Apache-2.0
//
// Recursive doubling: in round i a node swaps its partial result with the one 2^i away and both
// combine them, left before right, so that all have the canonical tree's result after log2 N
// rounds. Where N is not a power of two, p < N, the first N - p pairs of nodes fold: one hands its
// data to the other before the rounds and gets the result after them.
//
// What the nodes swap must not have been rounded, or the bits would not be those of other
// algorithms: where there is more than one round, or a fold, numbers of 16 bits travel as float32.
//
// Cost for m bytes, or 2 m where they travel wide: log2 p * (a + o + m b), and 2 (a + o + m b) more
// with folding, in which nothing is wide. The best for short messages and for two nodes.
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
    static double cost(int nodes, const Reduction& reduction, std::size_t count) {
        const Leaves leaves(nodes);
        const int rounds = std::countr_zero(static_cast<unsigned>(leaves.count));
        const std::size_t wide = widens(nodes) ? reduction.wide : reduction.element;
        return rounds * message_cost(count * wide) +
               (leaves.folded > 0 ? 2 * message_cost(count * reduction.element) : 0);
    }
    // Bytes of scratch memory.
    static std::size_t scratch_needed(int nodes, const Reduction& reduction, std::size_t count) {
        const bool wide = widens(nodes) && reduction.wide != reduction.element;
        return count * (wide ? 2 * reduction.wide : reduction.element);
    }

    // data: this node's partial result, then the result. scale: what is still to be done to it.
    void start(Wire& wire, Tag tag, int slot, int node, int nodes, const Reduction& reduction,
               const Scale& scale, std::byte* data, std::byte* scratch, std::size_t count);

  protected:
    bool advance() override;

  private:
    enum class Stage { fold, unfolded, round, combine, unfold, end };

    // Whether partial results are more than one node's.
    static bool widens(int nodes) { return nodes > 2; }

    bool fold();
    bool swap();
    void combine_fold();
    void combine_round();

    Reduction reduction_;  // whose kernels are all `combine` where nothing is wide
    Scale scale_;
    std::byte* data_ = nullptr;
    std::byte* own_ = nullptr;    // what this node swaps: data, or wide in the scratch memory
    std::byte* other_ = nullptr;  // what it receives
    std::size_t count_ = 0, bytes_ = 0;
    Leaves leaves_{1};
    int node_ = 0, leaf_ = 0;
    int distance_ = 1;
    Stage stage_ = Stage::end;
};

}  // namespace batchai::coll

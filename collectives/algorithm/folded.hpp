// SPDX-License-Identifier: Apache-2.0
//
// Folded: the base class of exchanges that work in rounds between a power of two of nodes, which
// are the leaves of the canonical tree. If the number of nodes N is not a power of two, let p < N
// be the largest one. Then the first N - p pairs of nodes fold: one node of a pair sends its data
// to the other before the rounds, and gets the result after them.
//
// Partial results must not be rounded, or the bits would differ from those of other algorithms. So
// partial results of several nodes keep 16-bit numbers wide, in scratch memory.
#pragma once

#include "collectives/algorithm/exchange.hpp"
#include "collectives/reduce/tree.hpp"

namespace batchai::coll {

class Folded : public Combining {
  public:
    // Bytes of scratch memory for data of `bytes`, of any type: two wide copies of 16-bit numbers.
    static std::size_t scratch_needed(int nodes, std::size_t bytes) {
        return widens(nodes) ? 4 * bytes : bytes;
    }

  protected:
    // Finishes the round whose messages have arrived and posts the next one. False: it was the last
    // round, and data_ is the result.
    virtual bool next_round() = 0;

    // The first step of a tag that belongs to the rounds.
    static constexpr int kRound = 2;
    // Whether partial results of more than one node occur.
    static bool widens(int nodes) { return nodes > 2; }
    static double folding_cost(const Link& link, int nodes, std::size_t bytes) {
        return Leaves(nodes).folded > 0 ? 2 * link.message(bytes) : 0;
    }
    int node_of(int leaf) const { return leaves_.node_of(leaf); }
    int leaves() const { return leaves_.count; }

    // All kernels of reduction_ are `combine` if nothing is wide.
    std::byte* own_ = nullptr;    // the partial result: data, or wide numbers in scratch memory
    std::byte* other_ = nullptr;  // memory for received data
    int leaf_ = 0;

  private:
    enum class Stage { fold, unfolded, rounds, unfold, end };

    void prepare() final;
    bool advance() final;
    void fold();

    Leaves leaves_{1};
    Stage stage_ = Stage::end;
};

}  // namespace batchai::coll

// SPDX-License-Identifier: Apache-2.0
//
// Ring: the data is cut into one block per node. In N-1 rounds every node passes a block to the
// next one, which adds its own. In N-1 more rounds the results are passed around.
//
// The order of combining is not the canonical tree's: which node's number comes first depends on
// the block. So a result's bits depend on a number's place in the message, and 16-bit numbers are
// rounded in every round. It is used only if it is named (planner.hpp). It needs the least from a
// network, because each node communicates with only two others.
//
// Cost for m bytes: 2 (N-1) (a + o) + 2 (N-1)/N m b.
//
// Source: Patarasuk, Yuan (see direct.hpp).
#pragma once

#include "collectives/algorithm/exchange.hpp"
#include "collectives/common/chunking.hpp"

namespace batchai::coll {

class Ring final : public Combining {
  public:
    static double cost(const Link& link, int nodes, const Reduction& reduction, std::size_t count) {
        const std::size_t bytes = count * reduction.element;
        return 2 * (nodes - 1) * link.message(bytes / static_cast<std::size_t>(nodes));
    }
    static std::size_t scratch_needed(int, std::size_t bytes) { return bytes; }

  private:
    Range range(int block) const {
        return part_of(count_, reduction_.element, (block % nodes_ + nodes_) % nodes_, nodes_);
    }
    std::byte* block(int index) const { return data_ + range(index).begin * reduction_.element; }
    std::size_t bytes(int index) const { return range(index).size() * reduction_.element; }
    void prepare() override { round_ = 0; }
    bool advance() override;
    void combine(int index);

    int round_ = 0;  // 0 .. 2 N - 3
};

inline void Ring::combine(int index) {
    const void* inputs[] = {scratch_, block(index)};
    const bool last = round_ == nodes_ - 1;
    reduction_.combine(block(index), inputs, 2, range(index).size(), last ? scale_ : Scale{});
}

// In round r of the first N-1, the node sends block node - r and receives block node - r - 1. After
// these rounds it has the result of block node + 1.
inline bool Ring::advance() {
    const int next = (node_ + 1) % nodes_, before = (node_ + nodes_ - 1) % nodes_;
    if (round_ > 0 && round_ < nodes_) combine(node_ - round_);
    if (round_ == 2 * (nodes_ - 1)) return false;
    if (round_ < nodes_ - 1) {
        receive(before, 0, scratch_, bytes(node_ - round_ - 1));
        send(next, 0, block(node_ - round_), bytes(node_ - round_));
    } else {
        const int gathered = round_ - (nodes_ - 1);
        receive(before, 0, block(node_ - gathered), bytes(node_ - gathered));
        send(next, 0, block(node_ + 1 - gathered), bytes(node_ + 1 - gathered));
    }
    ++round_;
    return true;
}

}  // namespace batchai::coll

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
#include "collectives/reduce/kernels.hpp"

namespace batchai::coll {

class Ring final : public Exchange {
  public:
    static double cost(const Link& link, int nodes, std::size_t bytes) {
        return 2 * (nodes - 1) * link.message(bytes / static_cast<std::size_t>(nodes));
    }

    // data: this node's partial result, then the result. scratch: memory of the same size. scale:
    // the scaling that is not done yet.
    void start(Wire& wire, Tag tag, int slot, int node, int nodes, const Reduction& reduction,
               const Scale& scale, std::byte* data, std::byte* scratch, std::size_t count);

  protected:
    bool advance() override;

  private:
    Range range(int block) const {
        return part_of(count_, reduction_.element, (block % nodes_ + nodes_) % nodes_, nodes_);
    }
    std::byte* block(int index) const { return data_ + range(index).begin * reduction_.element; }
    std::size_t bytes(int index) const { return range(index).size() * reduction_.element; }
    void combine(int index);

    Reduction reduction_;
    Scale scale_;
    std::byte *data_ = nullptr, *scratch_ = nullptr;
    std::size_t count_ = 0;
    int node_ = 0, nodes_ = 1;
    int round_ = 0;  // 0 .. 2 N - 3
};

}  // namespace batchai::coll

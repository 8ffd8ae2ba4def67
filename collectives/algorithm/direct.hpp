// SPDX-License-Identifier: Apache-2.0
//
// Direct allreduce: the data is cut into one block per node. Every node sends block i to node i.
// Node i combines the N blocks in the canonical tree's order. It sends the result to all nodes.
//
// Cost for m bytes: 2 a + 2 (N-1) o + 2 (N-1)/N m b. It sends no more bytes than the lower bound
// and has only two latencies, if the network takes N-1 messages at once. It is the best for long
// messages on up to some tens of nodes.
//
// Source for the bound: Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
// workstations", JPDC 69(2), 2009. The schedule is the radix-N case of scatter-reduce-allgather.
#pragma once

#include "collectives/algorithm/exchange.hpp"
#include "collectives/common/chunking.hpp"
#include "collectives/reduce/tree.hpp"

namespace batchai::coll {

class Direct final : public Combining {
  public:
    static double cost(const Link& link, int nodes, const Reduction& reduction, std::size_t count) {
        return 2 * link.latency + 2 * (nodes - 1) * link.overhead +
               2.0 * (nodes - 1) / nodes * static_cast<double>(count * reduction.element) *
                   link.per_byte;
    }
    // Bytes of scratch memory for data of `bytes`. Blocks are rounded up to whole cache lines.
    static std::size_t scratch_needed(int nodes, std::size_t bytes) {
        return tree_scratch_needed(nodes) + bytes +
               static_cast<std::size_t>(nodes) * 2 * kAlignment;
    }

  private:
    enum class Stage { scatter, gather, end };

    std::byte* block(int node) const { return data_ + range(node).begin * reduction_.element; }
    std::size_t bytes(int node) const { return range(node).size() * reduction_.element; }
    Range range(int node) const { return part_of(count_, reduction_.element, node, nodes_); }
    void prepare() override { stage_ = Stage::scatter; }
    bool advance() override;
    void scatter();
    void combine();
    void gather();

    std::vector<const std::byte*> blocks_;  // this node's block, by the node that has sent it
    Stage stage_ = Stage::end;
};

}  // namespace batchai::coll

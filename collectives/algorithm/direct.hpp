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
    static constexpr int kScatter = 0, kGather = 1;  // steps of a tag
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

// Starts with the next node, so that the nodes do not all send to the same one first.
inline void Direct::scatter() {
    blocks_.assign(nodes_, nullptr);
    blocks_[node_] = block(node_);
    std::byte* room = scratch_ + tree_scratch_needed(nodes_);
    for (int i = 1; i < nodes_; ++i) {
        const int from = (node_ + nodes_ - i) % nodes_;
        blocks_[from] = room;
        if (bytes(node_) > 0) receive(from, kScatter, room, bytes(node_));
        room += bytes(node_);
    }
    for (int i = 1; i < nodes_; ++i) {
        const int to = (node_ + i) % nodes_;
        if (bytes(to) > 0) send(to, kScatter, block(to), bytes(to));
    }
}

inline void Direct::combine() {
    combine_tree(reduction_, blocks_, block(node_), range(node_).size(), scale_, scratch_);
}

inline void Direct::gather() {
    for (int i = 1; i < nodes_; ++i) {
        const int from = (node_ + nodes_ - i) % nodes_;
        if (bytes(from) > 0) receive(from, kGather, block(from), bytes(from));
    }
    for (int i = 1; i < nodes_; ++i) {
        const int to = (node_ + i) % nodes_;
        if (bytes(node_) > 0) send(to, kGather, block(node_), bytes(node_));
    }
}

inline bool Direct::advance() {
    switch (stage_) {
        case Stage::scatter:
            scatter();
            stage_ = Stage::gather;
            return true;
        case Stage::gather:
            combine();
            gather();
            stage_ = Stage::end;
            return true;
        case Stage::end:
            return false;
    }
    return false;
}

}  // namespace batchai::coll

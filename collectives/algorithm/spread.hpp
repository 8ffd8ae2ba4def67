// SPDX-License-Identifier: Apache-2.0
//
// Spread: one chunk of a broadcast, from the root's node to all others, along a tree.
//
// Cost for m bytes in chunks of c, which follow each other through the tree:
//   binomial tree   log2 N (a + m b)              short messages: few hops, many sends of the root
//   chain           (N - 1) (a + c b) + m b       long messages: every node sends the data once
//
// Source: Thakur, Rabenseifner, Gropp (see recursive_doubling.hpp) for the tree; Worringen,
// "Pipelining and Overlapping for MPI Collective Operations", LCN 2003, for the chain.
#pragma once

#include <bit>
#include <vector>

#include "collectives/algorithm/exchange.hpp"

namespace batchai::coll {

class Spread final : public Exchange {
  public:
    enum class Shape { binomial, chain };
    static Shape shape_for(const Link& link, int nodes, std::size_t bytes, std::size_t chunk);

    // The tree, by position: 0 is the root's node. The parent of 0 is -1.
    static int parent(Shape shape, int position);
    // Calls `with` for each child.
    template <class With>
    static void for_children(Shape shape, int position, int nodes, With with) {
        if (shape == Shape::chain) {
            if (position + 1 < nodes) with(position + 1);
            return;
        }
        const int lowest = position & -position;
        for (int bit = static_cast<int>(std::bit_floor(static_cast<unsigned>(nodes))); bit > 0;
             bit /= 2) {
            if ((position == 0 || bit < lowest) && position + bit < nodes) with(position + bit);
        }
    }

    // data: the source on the root's node, the destination on other nodes.
    void start(Wire& wire, Tag tag, int slot, int node, int nodes, int root_node, Shape shape,
               std::byte* data, std::size_t bytes);

  protected:
    bool advance() override;

  private:
    enum class Stage { receive, send, end };

    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
    int parent_ = -1;            // a node
    std::vector<int> children_;  // nodes
    Stage stage_ = Stage::end;
};

}  // namespace batchai::coll

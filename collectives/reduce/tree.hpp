// SPDX-License-Identifier: Apache-2.0
//
// The canonical order in which the nodes' partial results are combined, whatever the algorithm: a
// balanced binary tree over the nodes in order, ((n0+n1)+(n2+n3))+... Where their number N is not a
// power of two, p < N, the first N - p pairs are folded into one leaf each. So the bits of a result
// depend on the ranks and nodes of a job, but not on a message's size, its place or the algorithm.
#pragma once

#include <bit>
#include <cstddef>
#include <span>

#include "collectives/reduce/kernels.hpp"

namespace batchai::coll {

// The leaves of the tree: node -> leaf, leaf -> the node that speaks for it.
struct Leaves {
    explicit Leaves(int node_count)
        : count(static_cast<int>(std::bit_floor(static_cast<unsigned>(node_count)))),
          folded(node_count - count) {}

    int leaf_of(int node) const { return node < 2 * folded ? node / 2 : node - folded; }
    int node_of(int leaf) const { return leaf < folded ? 2 * leaf : leaf + folded; }
    bool is_folded(int node) const { return node < 2 * folded; }  // shares its leaf with node ^ 1

    int count;   // a power of two
    int folded;  // leaves 0 .. folded - 1 are two nodes each
};

// Combines blocks[node], of `count` elements, into out. Blocks are overwritten, and the pointers
// too; out may be one of them.
void combine_tree(const Reduction& reduction, std::span<std::byte*> blocks, std::byte* out,
                  std::size_t count);

}  // namespace batchai::coll

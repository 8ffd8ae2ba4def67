// SPDX-License-Identifier: Apache-2.0
//
// The canonical order in which the nodes' partial results are combined, whatever the algorithm: a
// balanced binary tree over the nodes in order, ((n0+n1)+(n2+n3))+... If their number N is not a
// power of two, let p < N be the largest one: the first N - p pairs are folded into one leaf each.
// So the bits of a result depend on the ranks and nodes of a job. They do not depend on a message's
// size, its place or the algorithm. A node's own partial result is rounded, because it is sent, and
// so is the result of the tree. Partial results inside the tree are not rounded.
#pragma once

#include <bit>
#include <cstddef>
#include <span>

#include "collectives/reduce/kernels.hpp"

namespace batchai::coll {

// The leaves of the tree: the leaf of a node, and the node that represents a leaf.
struct Leaves {
    explicit Leaves(int node_count)
        : count(static_cast<int>(std::bit_floor(static_cast<unsigned>(node_count)))),
          folded(node_count - count) {}

    int leaf_of(int node) const { return node < 2 * folded ? node / 2 : node - folded; }
    int node_of(int leaf) const { return leaf < folded ? 2 * leaf : leaf + folded; }
    bool is_folded(int node) const { return node < 2 * folded; }  // shares its leaf with node ^ 1

    int count;   // a power of two
    int folded;  // leaves 0 .. folded - 1 have two nodes each
};

// Bytes of scratch memory that combine_tree needs: wide partial results, one per level of the tree,
// each with as many numbers as fit the first-level cache.
std::size_t tree_scratch_needed(int nodes);

// Combines blocks[node], of `count` elements, into out, which may be one of the blocks. Numbers are
// rounded once, however deep the tree is.
void combine_tree(const Reduction& reduction, std::span<const std::byte* const> blocks,
                  std::byte* out, std::size_t count, const Scale& scale, std::byte* scratch);

}  // namespace batchai::coll

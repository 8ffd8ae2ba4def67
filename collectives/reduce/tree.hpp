// SPDX-License-Identifier: Apache-2.0
//
// The canonical order in which the nodes' partial results are combined, whatever the algorithm: a
// balanced binary tree over the nodes in order, ((n0+n1)+(n2+n3))+... Where their number N is not a
// power of two, p < N, the first N - p pairs are folded into one leaf each. So the bits of a result
// depend on the ranks and nodes of a job, but not on a message's size, its place or the algorithm.
// A node's own partial result is rounded, because it travels, and so is the result of the tree. The
// partial results inside the tree are not rounded.
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

// Bytes of memory that combine_tree needs for itself: wide partial results, one for each level of
// the tree, of as many numbers as stay in the first-level cache.
std::size_t tree_scratch_needed(int nodes);

// Combines blocks[node], of `count` elements, into out, which may be one of them. However deep the
// tree is, numbers are rounded once.
void combine_tree(const Reduction& reduction, std::span<const std::byte* const> blocks,
                  std::byte* out, std::size_t count, const Scale& scale, std::byte* scratch);

}  // namespace batchai::coll

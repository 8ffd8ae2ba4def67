// SPDX-License-Identifier: Apache-2.0
//
// Tree: the path of fences and their data between the root (batchai-launch) and the agents. All
// other messages use the agents' own connections to the root.
//
// The root's children are nodes 0 to radix-1. The children of node n are the `radix` nodes from
// radix*(n+1) on. With at most radix nodes there is no tree: all nodes are children of the root.
//
// Cost of a fence over N nodes with S bytes in all, if a hop takes alpha and a byte beta, and the
// tree is d = log_radix(N) deep: 2 * d * alpha for the way up and down, and beta * (S + radix * (S
// + d * piece)). The second term: a node with children sends all data to each of them, and passes
// each piece (kPiece) on when it arrives. Without a tree the root would send N * S.
#pragma once

#include <string>
#include <vector>

namespace batchai::launcher {

inline constexpr int kRoot = -1;
inline constexpr int kDefaultRadix = 4;

struct Tree {
    int nodes = 1;
    int radix = kDefaultRadix;

    int parent(int node) const { return node / radix - 1; }
    std::vector<int> children(int node) const {  // of a node or kRoot
        std::vector<int> list;
        const long first = static_cast<long>(radix) * (node + 1);
        for (long child = first; child < first + radix && child < nodes; ++child) {
            list.push_back(static_cast<int>(child));
        }
        return list;
    }
    // The child of `self` at or above `node`, or `self` if node == self. node must be at or below
    // self.
    int branch(int self, int node) const {
        while (node != self && parent(node) != self && node != kRoot) node = parent(node);
        return node;
    }
    bool is_below(int self, int node) const {  // or equal
        return self == kRoot || branch(self, node) != kRoot;
    }
};

}  // namespace batchai::launcher

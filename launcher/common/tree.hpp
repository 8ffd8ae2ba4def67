// SPDX-License-Identifier: Apache-2.0
//
// Tree: the path of fences and their data between batchai-launch (the root) and the agents. All
// other messages use the agents' own connections to the root.
//
// Every inner node has `radix` children. The root has nodes 0 to radix-1; node n has the nodes from
// radix*(n+1) on. With at most radix nodes there is no tree: all nodes are children of the root.
//
// Cost of a fence over N nodes with S bytes of data in all, if a hop takes alpha and a byte beta: 2
// * d * alpha up and down, d = log_radix(N) deep; and beta * (S + radix * (S + d * piece)), because
// a node with children sends each of them all data, and passes on each piece (kPiece) when it
// arrives. Without a tree the root would send N * S.
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
    std::vector<int> children(int node) const;  // node or kRoot
    // The child of `self` below which a node is, or self; nothing sensible for a node elsewhere.
    int branch(int self, int node) const;
    bool is_below(int self, int node) const;  // or is it itself
};

}  // namespace batchai::launcher

// SPDX-License-Identifier: Apache-2.0
//
// Tree: the one way that fences and their data go between batchai-launch, the root, and the agents.
// Everything else goes over the agents' own connections to the root.
//
// Every node but the leaves has `radix` children: the root has nodes 0 to radix-1, node n has those
// from radix*(n+1) on. With as many nodes as the radix or fewer there is no tree: all are children
// of the root.
//
// Cost of a fence over N nodes with S bytes of data in all, a hop taking alpha and a byte beta:
// 2 * d * alpha up and down, d = log_radix(N) deep; and beta * (S + radix * (S + d * piece)), since
// who has children sends each of them everything, and passes on each piece (kPiece) as it comes.
// Without a tree the root would send N * S.
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

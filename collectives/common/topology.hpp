// SPDX-License-Identifier: Apache-2.0
//
// Topology: the node of each rank. Roster: also their names. Pure. Nodes are numbered by their
// lowest rank, and the ranks of a node by rank.
//
// Rails: between nodes, local rank r of a node communicates with local rank r of every other node.
// The smallest node's number of ranks is the number of rails. Ranks without a rail communicate only
// inside their node.
#pragma once

#include <string>
#include <vector>

namespace batchai::coll {

struct Topology {
    int rank = 0;
    int size = 1;
    std::vector<int> node_of;               // by rank
    std::vector<int> local_of;              // by rank
    std::vector<std::vector<int>> members;  // by node: its ranks, ascending

    // node_names: by rank; ranks with equal names are on one node.
    static Topology from_names(int rank, const std::vector<std::string>& node_names);

    int node() const { return node_of[rank]; }
    int nodes() const { return static_cast<int>(members.size()); }
    int local_rank() const { return local_of[rank]; }
    int local_size() const { return static_cast<int>(members[node()].size()); }
    int rails() const { return smallest_; }
    // Like chunk_bytes of chunking.hpp, for this topology. slow: of links between nodes, if there
    // are several.
    std::size_t chunk_bytes(bool slow) const;
    int largest_node() const { return largest_; }
    // This rank's counterpart on another node. Only ranks of a rail have one.
    int rail_rank(int other_node) const { return members[other_node][local_rank()]; }

  private:
    int smallest_ = 1, largest_ = 1;
};

// The names of ranks and nodes in messages.
struct Roster {
    Topology topology;
    std::vector<int> pids;           // by rank
    std::vector<std::string> nodes;  // the nodes' names, by node

    std::string rank(int rank) const;  // "rank 3 (process 4711 on node c2)"
    std::string node(int node) const;  // "node c2 (ranks 4-7)"
    int leader(int node) const { return topology.members[node][0]; }
    std::vector<int> local_pids() const;
};

// "rank 3", "ranks 0-3, 8"; of a long list only the first ones.
std::string describe_ranks(const std::vector<int>& ascending);

}  // namespace batchai::coll

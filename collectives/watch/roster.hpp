// SPDX-License-Identifier: Apache-2.0
//
// Roster: the names of ranks and nodes in messages.
#pragma once

#include <string>
#include <vector>

#include "collectives/common/topology.hpp"

namespace batchai::coll {

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

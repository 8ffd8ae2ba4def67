// SPDX-License-Identifier: Apache-2.0
//
// Which rank runs on which node. Ranks are numbered node by node, so that a node's ranks are
// neighbours.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sys/result.hpp"

namespace batchai::launcher {

struct RankMap {
    std::vector<std::string> nodes;
    std::vector<int> first;  // of each node, and one more: the number of ranks

    int size() const { return first.back(); }
    int local_size(int node) const { return first[node + 1] - first[node]; }
    int node_of(int rank) const;
    int local_rank(int rank) const { return rank - first[node_of(rank)]; }

    template <class Archive>
    void fields(Archive& archive) {
        archive(nodes, first);
    }
};

// What the user asked for; without any, one rank per GPU.
struct RankRequest {
    std::optional<int> ranks;           // -n, processCount
    std::optional<int> ranks_per_node;  // --ranks-per-node
    bool first_node_only = false;
};

// gpus: of each node. `ranks` are dealt out evenly, the first nodes take one more where they do not
// divide.
sys::Result<RankMap> make_map(const std::vector<std::string>& nodes, const std::vector<int>& gpus,
                              const RankRequest& request);

// PMI's notation, "(vector,(0,2,2),(2,1,1))": first node, nodes, ranks on each; runs of equal nodes
// together.
std::string process_mapping(const RankMap& map);

// "one rank per GPU: 8 ranks on 4 nodes"; what was chosen, for the user who did not say.
std::string describe(const RankMap& map, const std::vector<int>& gpus, const RankRequest& request);

}  // namespace batchai::launcher

// SPDX-License-Identifier: Apache-2.0
//
// The placement of ranks on nodes. In a block map, the ranks of a node have consecutive numbers. In
// a cyclic map, consecutive ranks are on consecutive nodes; full nodes are skipped.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "slurm/host_list.hpp"
#include "sys/codec.hpp"
#include "sys/result.hpp"
#include "sys/text.hpp"

namespace batchai::launcher {

struct RankMap {
    std::vector<std::string> nodes;
    std::vector<int> first;  // the first place of each node, then the number of places (= ranks)
    // In a cyclic map: the rank at each place, and the place of each rank. Empty in a block map,
    // where rank and place are equal.
    std::vector<int> ranks = {}, places = {};
    // Of a launch with further jobs (jobs.hpp): the number of the first rank of each.
    std::vector<int> further = {};

    int size() const { return first.back(); }
    int local_size(int node) const { return first[node + 1] - first[node]; }
    int rank_at(int place) const { return ranks.empty() ? place : ranks[place]; }
    int place(int rank) const { return places.empty() ? rank : places[rank]; }
    int node_of(int rank) const;
    int local_rank(int rank) const { return place(rank) - first[node_of(rank)]; }
    std::vector<int> ranks_on(int node) const;  // in ascending order; the index is the local rank
    // The number of nodes with ranks. They come before nodes without ranks.
    int used_nodes() const;

    // What users read: "3", or "1:0" for rank 0 of the first further job. names: "0-3,1:0-1".
    std::string name(int rank) const;
    std::string names(const std::vector<int>& sorted) const;

    // Names and numbers of ranks go in Slurm's notation: the root sends them to every node.
    template <class Archive>
    void fields(Archive& archive) {
        std::string names = slurm::hostlist_of(nodes), counts = sys::counts_of(local_sizes());
        archive(names, counts, ranks);
        if constexpr (!std::is_same_v<Archive, sys::Writer>) read(names, counts);
    }

  private:
    std::vector<int> local_sizes() const;
    // From these and `ranks`. A map of no nodes if they do not fit together.
    void read(const std::string& names, const std::string& counts);
};

enum class Order { block, cyclic };

// What the user asked for. Without a number of ranks, it is `ranks_per_gpu` for each GPU.
struct RankRequest {
    std::optional<int> ranks = {};           // -n, processCount
    std::optional<int> ranks_per_node = {};  // --ranks-per-node
    bool first_node_only = false;
    Order order = Order::block;
    int ranks_per_gpu = 1;
};

struct NodeSize {
    std::string name;
    int gpus = 0;
    int cores = 0;
    int tasks = 0;  // the user's request to Slurm; 0: none
};

// Deals the ranks to the nodes in turn, as long as a node has room (slots_of). When every node is
// full, placement starts again at the first node (oversubscription).
sys::Result<RankMap> make_map(const std::vector<NodeSize>& nodes, const RankRequest& request);

// How many ranks each node has room for: ranks_per_gpu for each GPU, or else the tasks that the
// user asked Slurm for, or else one for each core.
std::vector<int> slots_of(const std::vector<NodeSize>& nodes, int ranks_per_gpu);

// Adds ranks with the next numbers, one on each of these nodes.
void append(RankMap& map, const std::vector<int>& nodes);

// Adds `count` ranks with the next numbers, one on each node in turn.
void add_in_turn(RankMap& map, int count);

// In PMI's notation, "(vector,(0,2,2),(2,1,1))": first node, number of nodes, ranks on each. Equal
// neighbours are merged.
std::string process_mapping(const RankMap& map);

// "one rank per GPU: 8 ranks on 4 nodes": the launcher's choice, if the user made none.
std::string describe(const RankMap& map, const std::vector<NodeSize>& nodes, int ranks_per_gpu = 1);

}  // namespace batchai::launcher

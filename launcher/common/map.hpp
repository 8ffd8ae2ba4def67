// SPDX-License-Identifier: Apache-2.0
//
// The placement of ranks on nodes. In a block map, the ranks of a node have consecutive numbers. In
// a cyclic map, consecutive ranks go to one node after the other, as long as a node has places
// left.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "launcher/common/host_list.hpp"
#include "sys/codec.hpp"
#include "sys/result.hpp"

namespace batchai::launcher {

struct RankMap {
    std::vector<std::string> nodes;
    std::vector<int> first;  // place of each node, and one more: the number of places, or ranks
    // Cyclic: the rank at each place, the place of each rank. Block, where they are the same:
    // empty.
    std::vector<int> ranks = {}, places = {};

    int size() const { return first.back(); }
    int local_size(int node) const { return first[node + 1] - first[node]; }
    int place(int rank) const { return places.empty() ? rank : places[rank]; }
    int node_of(int rank) const;
    int local_rank(int rank) const { return place(rank) - first[node_of(rank)]; }
    std::vector<int> ranks_on(int node) const;  // by local rank, which is also ascending
    // Nodes with ranks; they come first.
    int used_nodes() const;

    // Names and numbers of ranks go in Slurm's notation: the root sends them to every node.
    template <class Archive>
    void fields(Archive& archive) {
        std::string names = hostlist_of(nodes), counts = counts_of(local_sizes());
        archive(names, counts, ranks);
        if constexpr (!std::is_same_v<Archive, sys::Writer>) read(names, counts);
    }

  private:
    std::vector<int> local_sizes() const;
    // From these and `ranks`. A map of no nodes if they do not fit together.
    void read(const std::string& names, const std::string& counts);
};

enum class Order { block, cyclic };

// What the user asked for; without a number of ranks, `ranks_per_gpu` per GPU.
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
    int tasks = 0;  // for which the user has asked Slurm; 0: for no number
};

// `ranks` are dealt out one to each node in turn while it has room: for the ranks of its GPUs, else
// for the tasks asked of Slurm, else for one per core. When no node has room left, all begin again.
sys::Result<RankMap> make_map(const std::vector<NodeSize>& nodes, const RankRequest& request);

// `count` ranks more, numbered after those of the map: one on each node in turn.
void add_in_turn(RankMap& map, int count);

// PMI's notation, "(vector,(0,2,2),(2,1,1))": first node, nodes, ranks on each; runs of equal nodes
// together.
std::string process_mapping(const RankMap& map);

// "one rank per GPU: 8 ranks on 4 nodes"; the choice, if the user made none.
std::string describe(const RankMap& map, const std::vector<NodeSize>& nodes, int ranks_per_gpu = 1);

}  // namespace batchai::launcher

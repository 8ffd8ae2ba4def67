// SPDX-License-Identifier: Apache-2.0
#include "collectives/common/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "collectives/common/chunking.hpp"

namespace batchai::coll {

Topology Topology::from_names(int rank, const std::vector<std::string>& node_names) {
    Topology topology;
    topology.rank = rank;
    topology.size = static_cast<int>(node_names.size());
    std::unordered_map<std::string, int> index;
    for (int r = 0; r < topology.size; ++r) {
        const int node = index.try_emplace(node_names[r], topology.nodes()).first->second;
        if (node == topology.nodes()) topology.members.emplace_back();
        topology.node_of.push_back(node);
        topology.local_of.push_back(static_cast<int>(topology.members[node].size()));
        topology.members[node].push_back(r);
    }
    const auto [least, most] = std::minmax_element(
        topology.members.begin(), topology.members.end(),
        [](const auto& left, const auto& right) { return left.size() < right.size(); });
    topology.smallest_ = static_cast<int>(least->size());
    topology.largest_ = static_cast<int>(most->size());
    return topology;
}

std::size_t Topology::chunk_bytes(bool slow) const {
    return coll::chunk_bytes(largest_node(), largest_node() - rails(), size, slow && nodes() > 1);
}

std::string describe_ranks(const std::vector<int>& ranks) {
    constexpr int kMost = 6;
    std::string text = ranks.size() == 1 ? "rank " : "ranks ";
    int ranges = 0;
    for (std::size_t i = 0, end = 0; i < ranks.size(); i = end) {
        for (end = i + 1; end < ranks.size() && ranks[end] == ranks[end - 1] + 1;) ++end;
        if (ranges > 0) text += ", ";
        if (ranges++ == kMost) return text + "...";
        text += fmt::to_string(ranks[i]);
        if (end - i > 1) text += fmt::format("-{}", ranks[end - 1]);
    }
    return text;
}

std::string Roster::rank(int rank) const {
    return fmt::format("rank {} (process {} on node {})", rank, pids[rank],
                       nodes[topology.node_of[rank]]);
}

std::string Roster::node(int node) const {
    return fmt::format("node {} ({})", nodes[node], describe_ranks(topology.members[node]));
}

std::vector<int> Roster::local_pids() const {
    std::vector<int> local;
    for (const int rank : topology.members[topology.node()]) local.push_back(pids[rank]);
    return local;
}

}  // namespace batchai::coll

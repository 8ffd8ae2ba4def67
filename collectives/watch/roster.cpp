// SPDX-License-Identifier: Apache-2.0
#include "collectives/watch/roster.hpp"

#include <fmt/format.h>

namespace batchai::coll {

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

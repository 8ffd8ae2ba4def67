// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>

#include "slurm/host_list.hpp"

namespace batchai::launcher {

int RankMap::node_of(int rank) const {
    return static_cast<int>(std::upper_bound(first.begin(), first.end(), place(rank)) -
                            first.begin()) -
           1;
}

std::vector<int> RankMap::ranks_on(int node) const {
    std::vector<int> list;
    for (int p = first[node]; p < first[node + 1]; ++p) list.push_back(rank_at(p));
    return list;
}

int RankMap::used_nodes() const {
    int used = 0;
    while (used < static_cast<int>(nodes.size()) && local_size(used) > 0) ++used;
    return used;
}

std::string RankMap::name(int rank) const {
    return names({rank});
}

std::string RankMap::names(const std::vector<int>& sorted) const {
    std::string text;
    for (std::size_t job = 0; job <= further.size(); ++job) {
        const int begin = job == 0 ? 0 : further[job - 1];
        const int end = job == further.size() ? std::numeric_limits<int>::max() : further[job];
        std::vector<int> own;
        for (const int rank : sorted)
            if (rank >= begin && rank < end) own.push_back(rank - begin);
        if (own.empty()) continue;
        text += text.empty() ? "" : ",";
        if (job > 0) text += fmt::format("{}:", job);
        text += sys::number_list(own);
    }
    return text;
}

std::vector<int> RankMap::local_sizes() const {
    std::vector<int> sizes;
    for (int node = 0; node < static_cast<int>(nodes.size()); ++node)
        sizes.push_back(local_size(node));
    return sizes;
}

void RankMap::read(const std::string& names, const std::string& counts) {
    nodes = slurm::expand_hostlist(names);
    const std::vector<int> sizes = sys::expand_counts(counts);
    const std::int64_t total = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
    bool fits = nodes.size() == sizes.size() && total <= std::numeric_limits<int>::max() &&
                (ranks.empty() || total == static_cast<std::int64_t>(ranks.size()));
    first = {0};
    if (fits)
        for (const int size : sizes) first.push_back(first.back() + size);
    places.assign(ranks.size(), -1);
    for (std::size_t place = 0; fits && place < ranks.size(); ++place) {
        const int rank = ranks[place];
        fits = rank >= 0 && rank < size() && places[rank] == -1;
        if (fits) places[rank] = static_cast<int>(place);
    }
    if (!fits) *this = {{}, {0}};
}

namespace {

template <class Member>
bool any(const std::vector<NodeSize>& nodes, Member member) {
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](const NodeSize& n) { return n.*member > 0; });
}

std::vector<int> deal(int ranks, const std::vector<int>& slots) {
    std::vector<int> count(slots.size(), 0), left = slots;
    while (ranks > 0) {
        bool dealt = false;
        for (std::size_t n = 0; n < left.size() && ranks > 0; ++n) {
            if (left[n] == 0) continue;
            dealt = true;
            --left[n], --ranks, ++count[n];
        }
        if (!dealt) left = slots;
    }
    return count;
}

std::vector<int> counts(const std::vector<NodeSize>& nodes, const RankRequest& request) {
    std::vector<int> count(nodes.size(), 0);
    if (request.first_node_only) {
        count[0] = request.ranks.value_or(1);
        return count;
    }
    if (request.ranks) return deal(*request.ranks, slots_of(nodes, request.ranks_per_gpu));
    const bool gpus = any(nodes, &NodeSize::gpus);
    for (std::size_t n = 0; n < nodes.size(); ++n) {
        const int own = gpus ? nodes[n].gpus * request.ranks_per_gpu : nodes[n].tasks;
        count[n] = request.ranks_per_node.value_or(std::max(own, 1));
    }
    return count;
}

void make_cyclic(RankMap& map) {
    map.ranks.resize(map.size());
    map.places.resize(map.size());
    int rank = 0;
    for (int local = 0; rank < map.size(); ++local) {
        for (int node = 0; node < static_cast<int>(map.nodes.size()); ++node) {
            if (local >= map.local_size(node)) continue;
            map.ranks[map.first[node] + local] = rank;
            map.places[rank++] = map.first[node] + local;
        }
    }
}

}  // namespace

sys::Result<RankMap> make_map(const std::vector<NodeSize>& nodes, const RankRequest& request) {
    if (nodes.empty()) return sys::Error{"no nodes"};
    if (request.ranks.value_or(1) < 1 || request.ranks_per_node.value_or(1) < 1) {
        return sys::Error{"at least one rank is needed"};
    }
    RankMap map{{}, {0}};
    for (const NodeSize& node : nodes) map.nodes.push_back(node.name);
    for (int count : counts(nodes, request)) map.first.push_back(map.first.back() + count);
    if (request.order == Order::cyclic) make_cyclic(map);
    return map;
}

// GPUs come before tasks: Slurm may have placed the tasks unevenly, and then two ranks would share
// a GPU while another GPU is idle.
std::vector<int> slots_of(const std::vector<NodeSize>& nodes, int ranks_per_gpu) {
    const bool gpus = any(nodes, &NodeSize::gpus);
    const auto member = gpus                           ? &NodeSize::gpus
                        : any(nodes, &NodeSize::tasks) ? &NodeSize::tasks
                                                       : &NodeSize::cores;
    std::vector<int> slots;
    for (const NodeSize& node : nodes) {
        slots.push_back(std::max(node.*member * (gpus ? ranks_per_gpu : 1), 1));
    }
    return slots;
}

void append(RankMap& map, const std::vector<int>& nodes) {
    std::vector<std::vector<int>> on_node;
    for (int node = 0; node < static_cast<int>(map.nodes.size()); ++node)
        on_node.push_back(map.ranks_on(node));
    int ranks = map.size();
    for (const int node : nodes) on_node[node].push_back(ranks++);
    map.first = {0};
    map.ranks.clear();
    map.places.assign(ranks, 0);
    for (const std::vector<int>& own : on_node) {
        for (const int rank : own) {
            map.places[rank] = static_cast<int>(map.ranks.size());
            map.ranks.push_back(rank);
        }
        map.first.push_back(static_cast<int>(map.ranks.size()));
    }
}

void add_in_turn(RankMap& map, int count) {
    std::vector<int> nodes;
    for (int i = 0; i < count && !map.nodes.empty(); ++i)
        nodes.push_back(i % static_cast<int>(map.nodes.size()));
    append(map, nodes);
}

std::string process_mapping(const RankMap& map) {
    struct Run {
        int node, nodes, ranks;
    };
    std::vector<Run> runs;
    for (int rank = 0; rank < map.size();) {
        const int node = map.node_of(rank);
        int end = rank + 1;
        while (end < map.size() && map.node_of(end) == node) ++end;
        if (!runs.empty() && runs.back().ranks == end - rank &&
            runs.back().node + runs.back().nodes == node) {
            ++runs.back().nodes;
        } else {
            runs.push_back({node, 1, end - rank});
        }
        rank = end;
    }
    std::string text = "(vector";
    for (const Run& run : runs) text += fmt::format(",({},{},{})", run.node, run.nodes, run.ranks);
    return text + ")";
}

std::string describe(const RankMap& map, const std::vector<NodeSize>& nodes, int ranks_per_gpu) {
    std::string why = "no GPUs, one rank per node";
    if (any(nodes, &NodeSize::gpus)) {
        why = ranks_per_gpu == 1 ? "one rank per GPU"
                                 : fmt::format("{} ranks per GPU", ranks_per_gpu);
    } else if (any(nodes, &NodeSize::tasks)) {
        why = "no GPUs, one rank per task of the allocation";
    }
    const auto s = [](std::size_t n) { return n == 1 ? "" : "s"; };
    return fmt::format("{}: {} rank{} on {} node{}", why, map.size(), s(map.size()),
                       map.nodes.size(), s(map.nodes.size()));
}

}  // namespace batchai::launcher

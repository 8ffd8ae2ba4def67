// SPDX-License-Identifier: Apache-2.0
#include "launcher/map.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace batchai::launcher {

int RankMap::node_of(int rank) const {
    return static_cast<int>(std::upper_bound(first.begin(), first.end(), rank) - first.begin()) - 1;
}

namespace {

std::vector<int> counts(int nodes, const std::vector<int>& gpus, const RankRequest& request) {
    std::vector<int> count(nodes, 0);
    if (request.first_node_only) {
        count[0] = request.ranks.value_or(1);
    } else if (request.ranks) {
        for (int i = 0; i < nodes; ++i) {
            count[i] = *request.ranks / nodes + (i < *request.ranks % nodes ? 1 : 0);
        }
    } else if (request.ranks_per_node) {
        count.assign(nodes, *request.ranks_per_node);
    } else {
        for (int i = 0; i < nodes; ++i) count[i] = std::max(gpus[i], 1);
    }
    return count;
}

}  // namespace

sys::Result<RankMap> make_map(const std::vector<std::string>& nodes, const std::vector<int>& gpus,
                              const RankRequest& request) {
    if (nodes.empty()) return sys::Error{"no nodes"};
    if (request.ranks.value_or(1) < 1 || request.ranks_per_node.value_or(1) < 1) {
        return sys::Error{"at least one rank is needed"};
    }
    RankMap map{nodes, {0}};
    for (int count : counts(static_cast<int>(nodes.size()), gpus, request)) {
        map.first.push_back(map.first.back() + count);
    }
    return map;
}

std::string process_mapping(const RankMap& map) {
    std::string text = "(vector";
    const int nodes = static_cast<int>(map.nodes.size());
    for (int n = 0; n < nodes;) {
        int end = n;
        while (end < nodes && map.local_size(end) == map.local_size(n)) ++end;
        if (map.local_size(n) > 0) {
            text += fmt::format(",({},{},{})", n, end - n, map.local_size(n));
        }
        n = end;
    }
    return text + ")";
}

std::string describe(const RankMap& map, const std::vector<int>& gpus, const RankRequest& request) {
    std::string why = "as asked";
    if (!request.ranks && !request.ranks_per_node) {
        const bool any = std::any_of(gpus.begin(), gpus.end(), [](int n) { return n > 0; });
        why = any ? "one rank per GPU" : "no GPUs, one rank per node";
    }
    const auto s = [](std::size_t n) { return n == 1 ? "" : "s"; };
    return fmt::format("{}: {} rank{} on {} node{}", why, map.size(), s(map.size()),
                       map.nodes.size(), s(map.nodes.size()));
}

}  // namespace batchai::launcher

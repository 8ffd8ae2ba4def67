// SPDX-License-Identifier: Apache-2.0
#include "launcher/collective.hpp"

#include <algorithm>
#include <set>

namespace batchai::launcher {

bool is_member(const std::vector<std::uint32_t>& procs, int rank) {
    return std::any_of(procs.begin(), procs.end(), [rank](std::uint32_t proc) {
        return proc == kAllRanks || proc == static_cast<std::uint32_t>(rank);
    });
}

namespace {

std::vector<int> nodes_of(const std::vector<std::uint32_t>& procs, const RankMap& map) {
    std::set<int> nodes;
    for (std::uint32_t proc : procs) {
        if (proc == kAllRanks) {
            for (int n = 0; n < static_cast<int>(map.nodes.size()); ++n) {
                if (map.local_size(n) > 0) nodes.insert(n);
            }
        } else if (proc < static_cast<std::uint32_t>(map.size())) {
            nodes.insert(map.node_of(static_cast<int>(proc)));
        }
    }
    return {nodes.begin(), nodes.end()};
}

}  // namespace

std::optional<FenceTable::Complete> FenceTable::add(int node, Fence contribution,
                                                    const RankMap& map) {
    const Key key{contribution.pmi, contribution.procs};
    std::deque<Pending>& queue = fences_[key];
    auto place = std::find_if(queue.begin(), queue.end(),
                              [node](const Pending& p) { return !p.arrived.contains(node); });
    if (place == queue.end()) {
        queue.push_back({{}, nodes_of(key.second, map), next_order_++});
        place = queue.end() - 1;
    }
    place->arrived.emplace(node, std::move(contribution));
    const bool all = std::all_of(place->nodes.begin(), place->nodes.end(),
                                 [&](int n) { return place->arrived.contains(n); });
    if (!all) return std::nullopt;

    Complete complete{{key.first, key.second, 0, {}}, place->nodes};
    for (auto& [from, part] : place->arrived) {
        if (complete.done.status == 0) complete.done.status = part.status;
        complete.done.data += part.data;
    }
    queue.erase(place);
    if (queue.empty()) fences_.erase(key);
    return complete;
}

int FenceTable::blocked_by(const std::vector<int>& gone, const RankMap& map) const {
    for (const auto& [key, queue] : fences_) {
        for (int rank : gone) {
            if (is_member(key.second, rank) && !queue.front().arrived.contains(map.node_of(rank)))
                return rank;
        }
    }
    return -1;
}

std::optional<FenceTable::Missing> FenceTable::missing() const {
    const Pending* oldest = nullptr;
    for (const auto& [key, queue] : fences_) {
        for (const Pending& pending : queue) {
            if (oldest == nullptr || pending.order < oldest->order) oldest = &pending;
        }
    }
    if (oldest == nullptr) return std::nullopt;
    Missing missing{oldest->order, {}};
    std::copy_if(oldest->nodes.begin(), oldest->nodes.end(), std::back_inserter(missing.nodes),
                 [oldest](int n) { return !oldest->arrived.contains(n); });
    return missing;
}

}  // namespace batchai::launcher

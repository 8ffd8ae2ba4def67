// SPDX-License-Identifier: Apache-2.0
#include "launcher/collective.hpp"

#include <algorithm>
#include <set>

namespace batchai::launcher {
namespace {

// Small enough that passing one on takes no time, large enough that its frame costs nothing.
constexpr std::size_t kPiece = 256 << 10;

std::set<int> nodes_of(const std::vector<std::uint32_t>& procs, const RankMap& map) {
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
    return nodes;
}

}  // namespace

bool is_member(const std::vector<std::uint32_t>& procs, int rank) {
    return std::any_of(procs.begin(), procs.end(), [rank](std::uint32_t proc) {
        return proc == kAllRanks || proc == static_cast<std::uint32_t>(rank);
    });
}

void in_pieces(const Fence& fence, std::uint64_t serial,
               const std::function<void(const FenceDone&)>& use) {
    std::size_t at = 0;
    do {
        FenceDone piece{fence.id, fence.status, serial, fence.data.substr(at, kPiece), false};
        at += piece.data.size();
        piece.last = at == fence.data.size();
        use(piece);
    } while (at < fence.data.size());
}

std::vector<int> FenceTable::branches(const std::vector<std::uint32_t>& procs,
                                      const RankMap& map) const {
    std::set<int> found;
    for (int node : nodes_of(procs, map)) {
        if (tree_.is_below(self_, node)) found.insert(tree_.branch(self_, node));
    }
    return {found.begin(), found.end()};
}

std::optional<Fence> FenceTable::add(int from, Fence contribution, const RankMap& map) {
    const FenceId id = contribution.id;
    auto [place, is_new] = fences_.try_emplace(id);
    Pending& pending = place->second;
    if (is_new) pending = {{}, branches(id.procs, map), next_order_++};
    pending.arrived.emplace(from, std::move(contribution));
    const bool all = std::all_of(pending.branches.begin(), pending.branches.end(),
                                 [&](int n) { return pending.arrived.contains(n); });
    if (!all) return std::nullopt;

    Fence whole{id, 0, {}, {}};
    for (auto& [child, part] : pending.arrived) {
        if (whole.status == 0) whole.status = part.status;
        whole.broken.insert(whole.broken.end(), part.broken.begin(), part.broken.end());
        whole.data += part.data;
    }
    fences_.erase(place);
    return whole;
}

int FenceTable::blocked_by(const std::vector<int>& gone, const RankMap& map) const {
    const FenceId* before = nullptr;
    for (const auto& [id, pending] : fences_) {
        // Of the fences over the same ranks only the first is under way everywhere.
        const bool first = before == nullptr || !before->same_series(id);
        before = &id;
        if (!first) continue;
        for (int rank : gone) {
            if (is_member(id.procs, rank) &&
                !pending.arrived.contains(tree_.branch(self_, map.node_of(rank))))
                return rank;
        }
    }
    return -1;
}

std::optional<FenceTable::Missing> FenceTable::missing(const RankMap& map) const {
    const auto oldest = std::min_element(
        fences_.begin(), fences_.end(),
        [](const auto& a, const auto& b) { return a.second.order < b.second.order; });
    if (oldest == fences_.end()) return std::nullopt;
    const auto& [id, pending] = *oldest;
    Missing missing{id, {}};
    for (int node : nodes_of(id.procs, map)) {
        if (!pending.arrived.contains(tree_.branch(self_, node))) missing.nodes.push_back(node);
    }
    return missing;
}

}  // namespace batchai::launcher

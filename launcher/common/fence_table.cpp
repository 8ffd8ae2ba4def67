// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/fence_table.hpp"

#include <pmix_common.h>

#include <algorithm>
#include <set>

namespace batchai::launcher {
namespace {

// A smaller piece is passed on sooner; in a larger one the frame's header matters less.
constexpr std::size_t kPiece = 256 << 10;

// The nodes of the members, without some ranks.
std::set<int> nodes_of(const RankSet& procs, const RankMap& map,
                       const std::set<int>& without = {}) {
    std::set<int> nodes;
    for (int node = 0; node < static_cast<int>(map.nodes.size()); ++node) {
        for (int place = map.first[node]; place < map.first[node + 1]; ++place) {
            const int rank = map.rank_at(place);
            if (!procs.contains(rank) || without.contains(rank)) continue;
            nodes.insert(node);
            break;
        }
    }
    return nodes;
}

// Whether the members communicate with each other afterwards, so that none may be missing.
bool needs_all(const std::string& purpose) {
    return purpose == kPmi1 || purpose.starts_with(kConstruct) || purpose.starts_with(kDestruct);
}

}  // namespace

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

std::vector<int> FenceTable::branches(const RankSet& procs, const RankMap& map) const {
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
    pending.arrived.emplace(from, std::move(contribution));
    if (is_new) {
        pending.order = next_order_++;
        pending.awaited = awaited(id, pending, map);
    }
    pending.awaited.erase(from);
    if (!pending.awaited.empty()) return std::nullopt;
    return join(fences_.extract(place));
}

std::vector<Fence> FenceTable::leave(int rank, const RankMap& map) {
    if (rank < 0 || rank >= map.size()) return {};
    left_.insert(rank);
    std::vector<Fence> complete;
    for (auto place = fences_.begin(); place != fences_.end();) {
        auto& [id, pending] = *place;
        if (id.procs.contains(rank)) pending.awaited = awaited(id, pending, map);
        const auto next = std::next(place);
        if (pending.awaited.empty()) complete.push_back(join(fences_.extract(place)));
        place = next;
    }
    return complete;
}

std::set<int> FenceTable::awaited(const FenceId& id, const Pending& pending,
                                  const RankMap& map) const {
    std::set<int> found;
    for (const int node : nodes_of(id.procs, map, left_)) {
        if (!tree_.is_below(self_, node)) continue;
        const int branch = tree_.branch(self_, node);
        if (!pending.arrived.contains(branch)) found.insert(branch);
    }
    return found;
}

Fence FenceTable::join(Fences::node_type taken) const {
    const FenceId& id = taken.key();
    Fence whole{id, 0, {}, {}};
    for (auto& [child, part] : taken.mapped().arrived) {
        if (whole.status == 0) whole.status = part.status;
        whole.broken.insert(whole.broken.end(), part.broken.begin(), part.broken.end());
        whole.data += part.data;
    }
    if (whole.status == 0 && missing_rank(id) >= 0) whole.status = PMIX_GROUP_CONSTRUCT_ABORT;
    return whole;
}

int FenceTable::missing_rank(const FenceId& id) const {
    if (!needs_all(id.purpose)) return -1;
    const auto found = std::find_if(left_.begin(), left_.end(),
                                    [&id](int rank) { return id.procs.contains(rank); });
    return found == left_.end() ? -1 : *found;
}

int FenceTable::blocked_by(const std::vector<int>& gone, const RankMap& map) const {
    const FenceId* before = nullptr;
    for (const auto& [id, pending] : fences_) {
        // Fences over the same ranks are numbered. Only the first unfinished one can have started
        // on all nodes.
        const bool first = before == nullptr || !before->same_series(id);
        before = &id;
        if (!first) continue;
        for (int rank : gone) {
            if (id.procs.contains(rank) &&
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
    for (int node : nodes_of(id.procs, map, left_)) {
        if (!pending.arrived.contains(tree_.branch(self_, node))) missing.nodes.push_back(node);
    }
    return missing;
}

}  // namespace batchai::launcher

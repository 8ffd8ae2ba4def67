// SPDX-License-Identifier: Apache-2.0
//
// FenceTable: joins the data that comes to one place of the tree (the root or an agent) for each
// fence. The data comes from the children of that place and, for an agent, from its own ranks.
//
// A fence does not wait for a rank that has left PMIx and ended. A fence and a connection succeed
// without that rank, as under srun. Making a group, ending a group, and PMI-1's barrier fail.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launcher/common/map.hpp"
#include "launcher/common/message_pmix.hpp"
#include "launcher/common/tree.hpp"

namespace batchai::launcher {

// Whether a fence over these ranks, or over kAllRanks, is one of this rank.
bool is_member(const std::vector<std::uint32_t>& procs, int rank);

// Calls back with each piece of a finished fence.
void in_pieces(const Fence& fence, std::uint64_t serial,
               const std::function<void(const FenceDone&)>& use);

class FenceTable {
  public:
    FenceTable(Tree tree, int self) : tree_(tree), self_(self) {}

    // What came from a child or from self. All of it, once everyone has given: the first bad status
    // wins, data is joined in the order of the nodes.
    std::optional<Fence> add(int from, Fence contribution, const RankMap& map);

    // A rank at or below this place has left. Returns what is complete without it.
    std::vector<Fence> leave(int rank, const RankMap& map);

    // Those of its children, and itself, that have ranks of a fence at or below them.
    std::vector<int> branches(const std::vector<std::uint32_t>& procs, const RankMap& map) const;

    // One that has left, of a fence that cannot do without it; -1: none.
    int missing_rank(const FenceId& id) const;

    // One of the ranks without which a fence under way cannot be completed; -1: none.
    int blocked_by(const std::vector<int>& gone, const RankMap& map) const;

    // The oldest unfinished fence, and the nodes that may not have given their part. Only those
    // nodes know whether they have.
    struct Missing {
        FenceId id;
        std::vector<int> nodes;
    };
    std::optional<Missing> missing(const RankMap& map) const;

  private:
    struct Pending {
        std::map<int, Fence> arrived;
        std::set<int> awaited;  // branches that have not given, and that have members to do it
        std::uint64_t order = 0;
    };
    using Fences = std::map<FenceId, Pending>;
    std::set<int> awaited(const FenceId& id, const Pending& pending, const RankMap& map) const;
    Fence join(Fences::node_type taken) const;
    Tree tree_;
    int self_;
    Fences fences_;
    std::set<int> left_;  // ranks
    std::uint64_t next_order_ = 0;
};

}  // namespace batchai::launcher

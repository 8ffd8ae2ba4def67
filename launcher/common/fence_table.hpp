// SPDX-License-Identifier: Apache-2.0
//
// FenceTable: joins the data of each fence at one place of the tree (the root or an agent). The
// data comes from the children of that place and, at an agent, from its own ranks.
//
// Fences do not wait for a rank that has left PMIx and ended. A plain fence or a connection then
// succeeds without that rank, as under srun. Making a group, ending a group, and PMI-1's barrier
// fail.
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

// Calls `use` with each piece of a finished fence.
void in_pieces(const Fence& fence, std::uint64_t serial,
               const std::function<void(const FenceDone&)>& use);

class FenceTable {
  public:
    FenceTable(Tree tree, int self) : tree_(tree), self_(self) {}

    // Adds the data of a child or of self. When all have given theirs, returns the whole: the first
    // bad status counts, and the data is in the order of the nodes.
    std::optional<Fence> add(int from, Fence contribution, const RankMap& map);

    // Call it when a rank at or below this place has left. Returns the fences that are complete
    // without it.
    std::vector<Fence> leave(int rank, const RankMap& map);

    // The children, and self, that have ranks of the fence at or below them.
    std::vector<int> branches(const RankSet& procs, const RankMap& map) const;

    // A rank that has left, for a fence that needs all its members; -1: none.
    int missing_rank(const FenceId& id) const;

    // A rank of `gone` without which an unfinished fence cannot complete; -1: none.
    int blocked_by(const std::vector<int>& gone, const RankMap& map) const;

    // The oldest unfinished fence, and the nodes that may not have given their data. Only those
    // nodes know whether they have.
    struct Missing {
        FenceId id;
        std::vector<int> nodes;
    };
    std::optional<Missing> missing(const RankMap& map) const;

  private:
    struct Pending {
        std::map<int, Fence> arrived;
        std::set<int> awaited;  // branches with members that have not given their data
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

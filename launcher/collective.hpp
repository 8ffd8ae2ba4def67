// SPDX-License-Identifier: Apache-2.0
//
// FenceTable: matches the agents' contributions to fences. A fence is known by its kind and its
// list of ranks; fences over the same list follow each other, so a node's contribution belongs to
// the first of them that does not have one of this node yet.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/map.hpp"
#include "launcher/message.hpp"

namespace batchai::launcher {

// Whether a fence over these ranks, or over kAllRanks, is one of this rank.
bool is_member(const std::vector<std::uint32_t>& procs, int rank);

class FenceTable {
  public:
    struct Complete {
        FenceDone done;
        std::vector<int> nodes;  // that wait for it
    };

    // What a fence needs of each node: the first bad status wins, data is joined in node order.
    std::optional<Complete> add(int node, Fence contribution, const RankMap& map);

    // One of the ranks without which a fence under way cannot be completed; -1: none.
    int blocked_by(const std::vector<int>& gone, const RankMap& map) const;

    // The oldest unfinished fence.
    struct Missing {
        std::uint64_t fence = 0;  // its number
        std::vector<int> nodes;   // that have not contributed
    };
    std::optional<Missing> missing() const;

  private:
    using Key = std::pair<Pmi, std::vector<std::uint32_t>>;
    struct Pending {
        std::map<int, Fence> arrived;  // by node
        std::vector<int> nodes;
        std::uint64_t order = 0;
    };
    std::map<Key, std::deque<Pending>> fences_;
    std::uint64_t next_order_ = 0;
};

}  // namespace batchai::launcher

// SPDX-License-Identifier: Apache-2.0
//
// Groups: the PMIx groups of a node's ranks that some members have asked to make or to end, while
// others have not yet. The PMIx library tells its host only when all have asked. Without this
// class, a member that ends before that leaves the others waiting for ever.
//
// It counts requests in the same way as the library (4.2). The library knows a group by its name
// alone and does not check the caller. So a request of another rank, or for other members under the
// same name, counts as a member's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "launcher/common/fence_table.hpp"
#include "launcher/common/map.hpp"

namespace batchai::launcher {

class Groups {
  public:
    // One more rank asks to make the group of these members; without members, to end the group.
    // Returns a member on this node that has ended; -1: none.
    int asked(const std::string& name, const std::vector<std::uint32_t>& members,
              const std::vector<int>& ranks_here) {
        Group& group = groups_[name];
        if (!members.empty()) group.members = members;
        const auto is_in = [&](int rank) { return is_member(group.members, rank); };
        const auto ended = std::find_if(ended_.begin(), ended_.end(), is_in);
        const int missing = ended == ended_.end() ? -1 : *ended;
        if (++group.asked >= std::count_if(ranks_here.begin(), ranks_here.end(), is_in)) {
            group.asked = 0;
            if (members.empty()) groups_.erase(name);
        }
        return missing;
    }

    // A rank of the node has ended.
    void end(int rank) { ended_.insert(rank); }
    // Whether ranks of an unfinished group wait for this rank.
    bool any_needs(int rank) const {
        return std::any_of(groups_.begin(), groups_.end(), [rank](const auto& entry) {
            return entry.second.asked > 0 && is_member(entry.second.members, rank);
        });
    }

  private:
    struct Group {
        std::vector<std::uint32_t> members;
        std::ptrdiff_t asked = 0;  // ranks that wait; 0: no request is pending
    };
    std::map<std::string, Group> groups_;  // by name
    std::set<int> ended_;
};

}  // namespace batchai::launcher

// SPDX-License-Identifier: Apache-2.0
//
// NewGroups: PMIx groups that some ranks of the node have asked for and others have not yet. The
// PMIx library tells its host of a group when all have asked; a member that ends before leaves it
// waiting for ever.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace batchai::launcher {

class NewGroups {
  public:
    // One more rank has asked; expected: so many members of the node must.
    void asked(const std::string& name, std::vector<std::uint32_t> members, int expected) {
        Group& group = groups_[name];
        group.members = std::move(members);
        if (++group.asked >= expected) groups_.erase(name);
    }

    bool any_needs(std::uint32_t rank) const {
        return std::any_of(groups_.begin(), groups_.end(), [rank](const auto& entry) {
            const auto& members = entry.second.members;
            return std::find(members.begin(), members.end(), rank) != members.end();
        });
    }

  private:
    struct Group {
        std::vector<std::uint32_t> members;
        int asked = 0;
    };
    std::map<std::string, Group> groups_;  // by name
};

}  // namespace batchai::launcher

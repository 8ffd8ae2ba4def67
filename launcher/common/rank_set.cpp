// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/rank_set.hpp"

#include <algorithm>

namespace batchai::launcher {

RankSet::RankSet(std::vector<std::uint32_t> ranks) {
    std::sort(ranks.begin(), ranks.end());
    for (const std::uint32_t rank : ranks) {
        if (!ranges_.empty() && rank - ranges_.back().last <= 1) {
            ranges_.back().last = rank;
        } else {
            ranges_.push_back({rank, rank});
        }
    }
}

RankSet RankSet::range(std::uint32_t first, std::uint32_t last) {
    RankSet set;
    set.ranges_.push_back({first, last});
    return set;
}

bool RankSet::contains(int rank) const {
    const auto number = static_cast<std::uint32_t>(rank);
    const auto after = std::upper_bound(
        ranges_.begin(), ranges_.end(), number,
        [](std::uint32_t value, const Range& range) { return value < range.first; });
    return after != ranges_.begin() && number <= std::prev(after)->last;
}

std::vector<std::uint32_t> RankSet::ranks() const {
    std::vector<std::uint32_t> list;
    for (const Range& range : ranges_) {
        for (std::uint32_t rank = range.first; rank <= range.last; ++rank) list.push_back(rank);
    }
    return list;
}

}  // namespace batchai::launcher

// SPDX-License-Identifier: Apache-2.0
//
// RankSet: ranks of a launch, by number, such as the members of a fence. It is kept as ranges,
// because most sets are all ranks of a job.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "sys/codec.hpp"

namespace batchai::launcher {

class RankSet {
  public:
    RankSet() = default;
    RankSet(std::vector<std::uint32_t> ranks);  // in any order
    static RankSet range(std::uint32_t first, std::uint32_t last);
    // All ranks of the launch, and those that it will have.
    static RankSet all() { return range(0, std::numeric_limits<std::uint32_t>::max()); }

    bool empty() const { return ranges_.empty(); }
    bool contains(int rank) const;
    // In ascending order. Do not call it for all().
    std::vector<std::uint32_t> ranks() const;
    // NOLINTNEXTLINE(modernize-use-nullptr): the check stumbles over the compiler's own code
    auto operator<=>(const RankSet&) const = default;
    BATCHAI_FIELDS(ranges_);

  private:
    struct Range {
        std::uint32_t first = 0, last = 0;
        // NOLINTNEXTLINE(modernize-use-nullptr): the check stumbles over the compiler's own code
        auto operator<=>(const Range&) const = default;
        BATCHAI_FIELDS(first, last);
    };
    std::vector<Range> ranges_;  // ascending, with at least one other rank between two
};

}  // namespace batchai::launcher

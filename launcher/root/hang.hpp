// SPDX-License-Identifier: Apache-2.0
//
// The hang report. From the agents' observations of each rank (RankState) it finds which ranks wait
// for which, and whose stacks to read. Pure. Of programs that do not use the collective library, it
// knows where their Python is.
//
// All ranks of a job run the same sequence of numbered operations. A rank that waits does so for
// ranks that are at an earlier operation and do not wait themselves.
#pragma once

#include <string>
#include <vector>

#include "launcher/common/map.hpp"
#include "launcher/common/message.hpp"

namespace batchai::launcher {

struct HangReport {
    std::vector<std::string> lines;  // none: no rank uses the library or answers as Python
    std::vector<int> awaited;        // the ranks for which others wait; none: unknown
    std::vector<int> interesting;    // whose stacks to read: some awaited ranks, one other; or
                                     // one rank of each line, where no rank uses the library
};

// states: of all running ranks, in any order.
HangReport hang_report(std::vector<RankState> states, const RankMap& map);

// "rank 4 (n2)", "ranks 0-2, 5"; only the first few of many. Sorted.
std::string name_ranks(const std::vector<int>& ranks, const RankMap& map);

}  // namespace batchai::launcher

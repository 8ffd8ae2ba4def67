// SPDX-License-Identifier: Apache-2.0
//
// The hang report. From the agents' observations of each rank (RankState) it finds which ranks wait
// for which, and whose stacks to read. Pure. It covers programs that use the collective library.
// For other programs it has only the state of their processes.
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
    std::vector<std::string> lines;  // the first is a summary; none: no rank uses the library
    std::vector<int> awaited;        // the ranks for which others wait; none: unknown
    std::vector<int> interesting;    // whose stacks to read: some awaited ranks, one other
};

// states: of all running ranks, in any order.
HangReport hang_report(std::vector<RankState> states, const RankMap& map);

// "rank 4 (n2)", "ranks 0-2, 5"; only the first few of many. Sorted.
std::string name_ranks(const std::vector<int>& ranks, const RankMap& map);

}  // namespace batchai::launcher

// SPDX-License-Identifier: Apache-2.0
//
// The hang report. From the agents' observations of each rank (RankState) it finds which ranks wait
// for which, and the ranks whose stacks to ask for. Pure. It covers only programs that use the
// collective library; for others the report has only the state of their processes.
//
// All ranks of a job make the same sequence of operations, which have numbers. A rank that waits
// does so for ranks that are at an earlier operation and do not wait themselves.
#pragma once

#include <string>
#include <vector>

#include "launcher/common/map.hpp"
#include "launcher/common/message.hpp"

namespace batchai::launcher {

struct HangReport {
    std::vector<std::string> lines;  // the first one sums up; none: no rank uses the library
    std::vector<int> awaited;        // ranks for which the others wait; none: unknown
    std::vector<int> interesting;    // ranks whose stacks to read: some of these, one other
};

// Of every rank that runs, in any order.
HangReport hang_report(std::vector<RankState> states, const RankMap& map);

// "rank 4 (n2)", "ranks 0-2, 5", of many the first few. Sorted.
std::string name_ranks(const std::vector<int>& ranks, const RankMap& map);

}  // namespace batchai::launcher

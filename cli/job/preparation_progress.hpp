// SPDX-License-Identifier: Apache-2.0
//
// The progress of a job's nodes before its ranks start, which `job show` adds to the service's
// document. Pure: from the record's events (job/record.hpp).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/history/execution.hpp"
#include "job/record.hpp"

namespace batchai::cli {

// A {"node", "state", "seconds", "message"} for each node, sorted by name; null before the first
// event. state: mounted, preparing, prepared or failed. seconds: how long the job preparation has
// run so far or ran in all; null without one. message: of a failure, or of a preparation that was
// skipped; else null.
nlohmann::json preparation_of(const std::vector<job::Event>& events, const Execution&, double now);

// The nodes in state preparing.
std::vector<std::string> preparing_nodes(const nlohmann::json& preparation);

// "preparing n1, n2 and 6 more (12 s)", with the time of the slowest; empty if no node is
// preparing.
std::string preparing_text(const nlohmann::json& preparation);

}  // namespace batchai::cli

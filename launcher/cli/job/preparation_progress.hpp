// SPDX-License-Identifier: Apache-2.0
//
// How far the nodes of a job are before its ranks start: what `job show` adds to the service's
// document. Pure: from the record's events (job/record.hpp).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "job/record.hpp"
#include "launcher/cli/job/execution.hpp"

namespace batchai::cli {

// A {"node", "state", "seconds", "message"} for each node, by name; null while there is none.
// state: mounted, preparing, prepared or failed; seconds: what job preparation has taken by now or
// in all, null where there was none; message: of a failure or a preparation that was skipped, else
// null.
nlohmann::json preparation_of(const std::vector<job::Event>& events, const Execution&, double now);

// The nodes in state preparing.
std::vector<std::string> preparing_nodes(const nlohmann::json& preparation);

// "preparing n1, n2 and 6 more (12 s)", the seconds of the slowest; empty where none is.
std::string preparing_text(const nlohmann::json& preparation);

}  // namespace batchai::cli

// SPDX-License-Identifier: Apache-2.0
//
// The plan that --dry-run prints: for each rank its node, its resources and its variables. The text
// form prints what all ranks share once. In the JSON form each rank is complete.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "launcher/common/map.hpp"
#include "launcher/common/message.hpp"

namespace batchai::launcher {

struct Plan {
    RankMap map;
    std::vector<Program> programs;
    std::string directory;
    std::vector<RankPlan> ranks;  // sorted by rank
};

// Names and values that the plan must not show.
using Secrets = std::vector<std::pair<std::string, std::string>>;

// Replaces the secrets' values by "***" wherever they occur.
void hide(Plan& plan, Secrets secrets);
// The same for the ranks' output, in which a value of several lines may be split into lines.
void hide(std::string& text, const Secrets& secrets);

std::string as_text(const Plan& plan);
std::string as_json(const Plan& plan);

}  // namespace batchai::launcher

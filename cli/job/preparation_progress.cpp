// SPDX-License-Identifier: Apache-2.0
#include "cli/job/job_document.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace batchai::cli {
namespace {

using nlohmann::json;
using EventKind = job::Event::Kind;

constexpr std::size_t kNamed = 3;

struct NodeProgress {
    const char* state = "mounted";
    std::optional<double> begin;
    std::optional<double> end;
    std::string message;
};

// Whether a node failed before its ranks started.
bool is_of_preparation(const job::Event& event) {
    return event.code == "JobNodeSetupFailed" || event.code == "JobPreparationFailed" ||
           event.code == "JobScriptNotFound";
}

void take(const job::Event& event, NodeProgress& node) {
    switch (event.kind) {
        case EventKind::mounted:
            node = NodeProgress{};  // a requeued job: its last run counts
            break;
        case EventKind::preparing:
            node.state = "preparing";
            node.begin = event.time;
            break;
        case EventKind::prepared:
            node.state = "prepared";
            node.end = event.time;
            node.message = event.message;
            break;
        case EventKind::failed:
            node.state = "failed";
            node.end = event.time;
            node.message = event.message;
            break;
        default:
            break;
    }
}

// Never negative, although the clocks of two machines differ.
json seconds_of(const NodeProgress& node, double now) {
    if (!node.begin) return nullptr;
    return std::round(std::max(0.0, node.end.value_or(now) - *node.begin) * 10) / 10;
}

}  // namespace

json preparation_of(const std::vector<job::Event>& events, const Execution& execution, double now) {
    if (execution.state == Execution::State::queued) return nullptr;  // of an earlier run
    std::map<std::string, NodeProgress> nodes;
    for (const auto& event : events)
        if (event.kind <= EventKind::prepared ||
            (event.kind == EventKind::failed && is_of_preparation(event)))
            take(event, nodes[event.node]);
    json preparation;  // null if there are none
    for (auto& [name, node] : nodes) {
        if (execution.over() && node.begin && !node.end) {  // killed before it could report its end
            node.state = "failed";
            node.end = execution.end_time;
        }
        preparation.push_back({{"node", name},
                               {"state", node.state},
                               {"seconds", seconds_of(node, now)},
                               {"message", node.message.empty() ? json() : json(node.message)}});
    }
    return preparation;
}

std::vector<std::string> preparing_nodes(const json& preparation) {
    std::vector<std::string> names;
    for (const auto& node : preparation)
        if (node.value("state", "") == "preparing") names.push_back(node.value("node", ""));
    return names;
}

std::string preparing_text(const json& preparation) {
    const auto names = preparing_nodes(preparation);
    if (names.empty()) return {};
    double longest = 0;
    for (const auto& node : preparation)
        if (node["state"] == "preparing") longest = std::max(longest, node.value("seconds", 0.0));
    const std::size_t shown = std::min(names.size(), kNamed);
    std::string text =
        fmt::format("preparing {}", fmt::join(names.begin(), names.begin() + shown, ", "));
    if (shown < names.size()) text += fmt::format(" and {} more", names.size() - shown);
    return text + fmt::format(" ({:.0f} s)", longest);
}

}  // namespace batchai::cli

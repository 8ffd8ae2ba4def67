// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/restart.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "launcher/common/say.hpp"
#include "launcher/root/coordinator.hpp"

namespace batchai::launcher {
namespace {

bool may_mend(const SessionResult& result, const Session& session) {
    if (result.cause != Cause::rank && result.cause != Cause::node) return false;
    if (session.owned_directory.empty()) return true;
    // If the agent of the first node is lost, its guard removes the job's own directories.
    const auto& lost = result.lost_nodes;
    std::error_code error;
    return std::find(lost.begin(), lost.end(), session.allocation.nodes.front()) == lost.end() &&
           std::filesystem::exists(session.owned_directory, error);
}

}  // namespace

Allocation without_nodes(const Allocation& allocation, const std::vector<std::string>& lost,
                         const Restarts& restarts) {
    Allocation left = allocation;
    std::erase_if(left.nodes, [&lost](const std::string& node) {
        return std::find(lost.begin(), lost.end(), node) != lost.end();
    });
    const auto count = static_cast<int>(left.nodes.size());
    if (lost.empty() || !restarts.min_nodes || count < *restarts.min_nodes) return allocation;
    left.reduced = true;
    return left;
}

SessionResult run_with_restarts(Session session, const Restarts& restarts) {
    session.max_restarts = restarts.most;
    while (true) {
        const SessionResult result = Coordinator::run(session);
        if (session.attempt == restarts.most || !may_mend(result, session)) return result;
        session.timeout_left = result.timeout_left;
        if (session.timeout_left && *session.timeout_left <= 0) return result;
        session.misplaced = result.misplaced;
        session.prepared = result.prepared;
        session.allocation = without_nodes(session.allocation, result.lost_nodes, restarts);
        ++session.attempt;
        const auto nodes = session.allocation.nodes.size();
        say(fmt::format("restart {} of {}, on {} node{}: {}", session.attempt, restarts.most, nodes,
                        nodes == 1 ? "" : "s", fmt::join(session.allocation.nodes, " ")));
    }
}

}  // namespace batchai::launcher

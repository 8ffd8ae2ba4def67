// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/hang.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <limits>
#include <map>
#include <set>
#include <tuple>

namespace batchai::launcher {
namespace {

using Stage = RankProgress::Stage;

constexpr std::size_t kMostStacks = 4;   // of awaited ranks
constexpr std::size_t kMostRanges = 16;  // "0-2", "5"
constexpr std::size_t kMostLines = 16;   // of Python

// How far a rank has come. The smaller one of two is behind.
struct Position {
    std::uint64_t epoch = 0, step = 0;
    // NOLINTNEXTLINE(modernize-use-nullptr): the check stumbles over the compiler's own code
    auto operator<=>(const Position&) const = default;
};

Position position(const RankProgress& at) {
    switch (at.stage) {
        case Stage::none:
            return {};
        case Stage::joining:
            return {at.epoch, 0};
        case Stage::begun:
            return {at.epoch, 2 * at.operation};
        case Stage::idle:
            return {at.epoch, 2 * at.operation + 1};
        case Stage::left:
            break;
    }
    return {at.epoch, std::numeric_limits<std::uint64_t>::max()};
}

// The missing ranks that waiting ranks have observed: on their own node, or else over the network.
std::vector<int> seen_missing(const std::vector<RankState>& states, bool certain) {
    std::set<int> missing;
    for (const RankState& state : states) {
        if (!state.progress.waits() || state.progress.certain != certain) continue;
        missing.insert(state.progress.missing.begin(), state.progress.missing.end());
    }
    for (const RankState& state : states) {
        if (state.progress.waits()) missing.erase(state.rank);
    }
    return {missing.begin(), missing.end()};
}

std::vector<int> find_awaited(const std::vector<RankState>& states) {
    bool any = false;
    Position farthest;
    for (const RankState& state : states) {
        if (!state.progress.waits()) continue;
        any = true;
        farthest = std::max(farthest, position(state.progress));
    }
    std::vector<int> awaited;
    if (!any) return awaited;
    for (const RankState& state : states) {
        if ((!state.progress.waits() || state.stopped) && position(state.progress) <= farthest) {
            awaited.push_back(state.rank);
        }
    }
    for (const bool certain : {true, false}) {
        if (awaited.empty()) awaited = seen_missing(states, certain);
    }
    return awaited;
}

// Ranks in the same state.
struct Group {
    RankState state;  // the first rank's
    std::vector<int> ranks, missing;
    bool certain = false;
    double seconds = 0;  // the longest of the group

    bool takes(const RankState& other) const {
        const auto key = [](const RankState& s) {
            const RankProgress& at = s.progress;
            return std::tie(at.stage, at.inside, at.epoch, at.operation, at.what, s.stopped);
        };
        return key(state) == key(other);
    }
    void add(const RankState& other) {
        ranks.push_back(other.rank);
        seconds = std::max(seconds, other.progress.seconds);
        if (other.progress.certain && !certain) missing.clear();  // this observation is certain
        if (certain && !other.progress.certain) return;
        certain = other.progress.certain;
        missing.insert(missing.end(), other.progress.missing.begin(), other.progress.missing.end());
    }
};

std::string describe(Group group, const RankMap& map) {
    const RankProgress& at = group.state.progress;
    const std::string after = fmt::format("{:.0f} s", group.seconds);
    const std::string stopped = group.state.stopped ? ", stopped by a signal" : "";
    std::sort(group.missing.begin(), group.missing.end());
    group.missing.erase(std::unique(group.missing.begin(), group.missing.end()),
                        group.missing.end());
    switch (at.stage) {
        case Stage::none:
            return "no use of the collective library so far" + stopped;
        case Stage::joining:
            return fmt::format("in init, waiting for all ranks for {}{}", after, stopped);
        case Stage::begun:
            break;
        case Stage::idle:
            return fmt::format("in no collective since {}, {} ago{}",
                               at.operation == 0 ? "init" : at.what, after, stopped);
        case Stage::left:
            return fmt::format("left the collective library {} ago{}", after, stopped);
    }
    if (!at.inside) {
        return fmt::format("has started {} {} ago, and does not wait for it{}", at.what, after,
                           stopped);
    }
    if (group.missing.empty()) return fmt::format("in {} for {}{}", at.what, after, stopped);
    return fmt::format("in {}, waiting for {}{} for {}{}", at.what, name_ranks(group.missing, map),
                       group.certain ? "" : " or a neighbour", after, stopped);
}

std::vector<Group> groups_of(const std::vector<RankState>& states) {
    std::vector<Group> groups;
    for (const RankState& state : states) {
        auto found = std::find_if(groups.begin(), groups.end(),
                                  [&](const Group& group) { return group.takes(state); });
        if (found == groups.end()) {
            groups.push_back({state, {}, {}, false, 0});
            found = groups.end() - 1;
        }
        found->add(state);
    }
    std::stable_sort(groups.begin(), groups.end(), [](const Group& left, const Group& right) {
        return position(left.state.progress) < position(right.state.progress);
    });
    return groups;
}

std::string summary(const std::vector<RankState>& states, const std::vector<int>& awaited,
                    const RankMap& map) {
    std::vector<int> waiting;
    for (const RankState& state : states) {
        if (state.progress.waits() &&
            !std::binary_search(awaited.begin(), awaited.end(), state.rank)) {
            waiting.push_back(state.rank);
        }
    }
    if (waiting.empty() && awaited.empty()) return "no rank waits in a collective";
    if (awaited.empty()) {
        return fmt::format("{} {} in a collective, and no rank is behind", name_ranks(waiting, map),
                           waiting.size() == 1 ? "is" : "are");
    }
    if (waiting.empty()) {
        return fmt::format("only {} {}", name_ranks(awaited, map),
                           awaited.size() == 1 ? "waits" : "wait");
    }
    return fmt::format("{} {} for {}", name_ranks(waiting, map),
                       waiting.size() == 1 ? "waits" : "wait", name_ranks(awaited, map));
}

// The ranks at each line of Python, the fewest first: a rank that misses a call is alone.
std::vector<std::pair<std::string, std::vector<int>>> lines_of(
    const std::vector<RankState>& states) {
    std::map<std::string, std::vector<int>> by_line;
    for (const RankState& state : states) {
        if (!state.line.empty()) by_line[state.line].push_back(state.rank);
    }
    std::vector<std::pair<std::string, std::vector<int>>> lines(by_line.begin(), by_line.end());
    std::stable_sort(lines.begin(), lines.end(), [](const auto& left, const auto& right) {
        return left.second.size() < right.second.size();
    });
    return lines;
}

}  // namespace

std::string name_ranks(const std::vector<int>& ranks, const RankMap& map) {
    if (ranks.size() == 1) {
        const int rank = ranks[0];
        if (rank < 0 || rank >= map.size()) return fmt::format("rank {}", rank);
        return fmt::format("rank {} ({})", map.name(rank), map.nodes[map.node_of(rank)]);
    }
    std::string text = "ranks";
    std::size_t ranges = 0;
    for (std::size_t i = 0; i < ranks.size(); ++ranges) {
        if (ranges == kMostRanges) return text + fmt::format(" and {} more", ranks.size() - i);
        std::size_t last = i;
        while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
        const std::vector<int> range(ranks.begin() + static_cast<std::ptrdiff_t>(i),
                                     ranks.begin() + static_cast<std::ptrdiff_t>(last) + 1);
        text += fmt::format("{} {}", ranges == 0 ? "" : ",", map.names(range));
        i = last + 1;
    }
    return text;
}

HangReport hang_report(std::vector<RankState> states, const RankMap& map) {
    std::sort(states.begin(), states.end(),
              [](const RankState& left, const RankState& right) { return left.rank < right.rank; });
    HangReport report;
    report.awaited = find_awaited(states);
    report.interesting = report.awaited;
    if (report.interesting.size() > kMostStacks) report.interesting.resize(kMostStacks);
    const auto other = std::find_if(states.begin(), states.end(), [&](const RankState& state) {
        return !std::binary_search(report.awaited.begin(), report.awaited.end(), state.rank);
    });
    if (other != states.end()) report.interesting.push_back(other->rank);
    const bool used = std::any_of(states.begin(), states.end(), [](const RankState& state) {
        return state.progress.stage != Stage::none;
    });
    if (used) {
        report.lines.push_back(summary(states, report.awaited, map));
        for (const Group& group : groups_of(states)) {
            report.lines.push_back(
                fmt::format("  {}: {}", name_ranks(group.ranks, map), describe(group, map)));
        }
    }
    auto lines = lines_of(states);
    if (!used && !lines.empty()) report.interesting.clear();
    if (!lines.empty()) report.lines.emplace_back(used ? "  lines of Python:" : "lines of Python:");
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (i == kMostLines) {
            report.lines.push_back(fmt::format("  and {} more lines", lines.size() - i));
            break;
        }
        const auto& [line, ranks] = lines[i];
        report.lines.push_back(fmt::format("  {}: {}", name_ranks(ranks, map), line));
        if (!used && i < kMostStacks) report.interesting.push_back(ranks[0]);
    }
    return report;
}

}  // namespace batchai::launcher

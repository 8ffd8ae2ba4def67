// SPDX-License-Identifier: Apache-2.0
#include "collectives/queue/judge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <span>

#include "collectives/queue/submission.hpp"

namespace batchai::coll {
namespace {

using KeyOf = std::map<std::string_view, const std::string*>;  // keys by name

constexpr std::size_t kNamesShown = 6, kRanksShown = 8;

std::vector<KeyOf> by_name(const std::vector<PendingRequests>& requests) {
    std::vector<KeyOf> keys(requests.size());
    for (std::size_t r = 0; r < requests.size(); ++r) {
        for (const std::string& key : requests[r].keys) keys[r].emplace(name_of(key), &key);
    }
    return keys;
}

// The reason why an operation cannot start that is pending on `first` and on all ranks that have
// not joined. Empty: it can start.
std::string objection(const std::vector<KeyOf>& keys, std::size_t first, std::string_view name,
                      const std::vector<int>& numbers) {
    const std::string& key = *keys[first].at(name);
    for (std::size_t r = 0; r < keys.size(); ++r) {
        const auto found = keys[r].find(name);
        if (found == keys[r].end()) {
            if (takes_zeros(key)) continue;
            return fmt::format(
                "{}: rank {} has joined. Until all ranks have joined, only sums and averages in "
                "host memory work, not {}",
                name, numbers[r], describe_key(key));
        }
        const std::string& other = *found->second;
        if (other == key) continue;
        return fmt::format("{}: ranks disagree: rank {} has {}, rank {} has {}", name,
                           numbers[first], describe_key(key), numbers[r], describe_key(other));
    }
    return {};
}

std::string what_waits(const PendingRequests& requests) {
    if (requests.closing) return "has shut down";
    std::vector<std::string> names;
    for (const std::string& key : requests.keys) {
        if (names.size() == kNamesShown) break;
        names.push_back(fmt::format("{} ({})", name_of(key), describe_key(key)));
    }
    std::string text = fmt::format("waits for {}", fmt::join(names, ", "));
    if (requests.keys.size() > kNamesShown) {
        text += fmt::format(" and {} more", requests.keys.size() - kNamesShown);
    }
    return text;
}

// Adds a failed verdict for each key, once per key.
class Failing {
  public:
    Failing(std::vector<Verdict>& verdicts, std::string sentence)
        : verdicts_(verdicts), sentence_(std::move(sentence)) {}

    void add(const std::string& key) {
        if (seen_.insert(key).second) verdicts_.push_back({key, sentence_});
    }

  private:
    std::vector<Verdict>& verdicts_;
    std::string sentence_;
    std::set<std::string_view> seen_;
};

// The verdicts if every rank is stuck: all operations fail.
std::vector<Verdict> all_fail(const std::vector<PendingRequests>& requests,
                              const std::vector<int>& numbers) {
    std::vector<std::string> ranks;
    for (std::size_t r = 0; r < requests.size() && ranks.size() < kRanksShown; ++r) {
        ranks.push_back(fmt::format("rank {} {}", numbers[r], what_waits(requests[r])));
    }
    std::vector<Verdict> verdicts;
    Failing failing(verdicts, fmt::format("no operation was submitted on every rank: {}",
                                          fmt::join(ranks, "; ")));
    for (const PendingRequests& own : requests) {
        for (const std::string& key : own.keys) failing.add(key);
    }
    return verdicts;
}

}  // namespace

bool PendingRequests::has_joined() const {
    return std::any_of(keys.begin(), keys.end(), is_join);
}

std::vector<Verdict> judge(const std::vector<PendingRequests>& requests,
                           const std::vector<int>& numbers) {
    const std::vector<KeyOf> keys = by_name(requests);
    std::vector<Verdict> verdicts;
    std::vector<bool> joined;
    for (const PendingRequests& own : requests) joined.push_back(own.has_joined());
    const auto working =
        static_cast<std::size_t>(std::find(joined.begin(), joined.end(), false) - joined.begin());
    const std::size_t first = working == requests.size() ? 0 : working;
    for (const std::string& key : requests[first].keys) {
        const std::string_view name = name_of(key);
        bool everywhere = true;
        for (std::size_t r = 0; r < requests.size(); ++r) {
            everywhere = everywhere && (joined[r] || keys[r].contains(name));
        }
        if (!everywhere) continue;
        std::string wrong = objection(keys, first, name, numbers);
        if (wrong.empty()) {
            verdicts.push_back({key, {}});
            continue;
        }
        Failing failing(verdicts, std::move(wrong));
        for (const KeyOf& own : keys) {
            if (const auto found = own.find(name); found != own.end()) failing.add(*found->second);
        }
    }
    const bool stuck = std::all_of(requests.begin(), requests.end(),
                                   [](const PendingRequests& own) { return own.stuck; });
    return verdicts.empty() && stuck ? all_fail(requests, numbers) : verdicts;
}

int last_to_join(const std::vector<PendingRequests>& requests) {
    const auto last = std::min_element(
        requests.rbegin(), requests.rend(),
        [](const PendingRequests& a, const PendingRequests& b) { return a.seen < b.seen; });
    return static_cast<int>(requests.rend() - last) - 1;
}

std::string describe_stall(const std::vector<PendingRequests>& requests,
                           const std::vector<int>& numbers) {
    const std::vector<KeyOf> keys = by_name(requests);
    std::map<std::string_view, std::vector<int>> missing;
    for (const KeyOf& own : keys) {
        for (const auto& [name, key] : own) {
            if (!is_join(*key)) missing.try_emplace(name);
        }
    }
    std::string text;
    std::size_t shown = 0;
    for (auto& [name, ranks] : missing) {
        for (std::size_t r = 0; r < keys.size(); ++r) {
            if (!requests[r].has_joined() && !keys[r].contains(name)) ranks.push_back(numbers[r]);
        }
        if (ranks.empty() || ++shown > kNamesShown) continue;
        const std::span some(ranks.data(), std::min(ranks.size(), kRanksShown));
        text += fmt::format("{}{}: not submitted by rank{} {}{}", text.empty() ? "" : "; ", name,
                            ranks.size() == 1 ? "" : "s", fmt::join(some, ", "),
                            ranks.size() > kRanksShown ? ", ..." : "");
    }
    return text;
}

}  // namespace batchai::coll

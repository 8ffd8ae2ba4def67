// SPDX-License-Identifier: Apache-2.0
#include "collectives/queue/judge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <span>

#include "collectives/queue/submission.hpp"

namespace batchai::coll {
namespace {

using KeyOf = std::map<std::string_view, const std::string*>;  // by name

constexpr std::size_t kNamesShown = 6, kRanksShown = 8;

std::vector<KeyOf> by_name(const std::vector<Line>& lines) {
    std::vector<KeyOf> keys(lines.size());
    for (std::size_t r = 0; r < lines.size(); ++r) {
        for (const std::string& key : lines[r].keys) keys[r].emplace(name_of(key), &key);
    }
    return keys;
}

std::string difference(const std::vector<KeyOf>& keys, std::string_view name,
                       const std::vector<int>& numbers) {
    const std::string& first = *keys[0].at(name);
    for (std::size_t r = 1; r < keys.size(); ++r) {
        const std::string& other = *keys[r].at(name);
        if (other == first) continue;
        return fmt::format("{}: ranks disagree: rank {} has {}, rank {} has {}", name, numbers[0],
                           describe_key(first), numbers[r], describe_key(other));
    }
    return {};
}

std::string what_waits(const Line& line) {
    if (line.closing) return "has shut down";
    std::vector<std::string> names;
    for (const std::string& key : line.keys) {
        if (names.size() == kNamesShown) break;
        names.push_back(fmt::format("{} ({})", name_of(key), describe_key(key)));
    }
    std::string text = fmt::format("waits for {}", fmt::join(names, ", "));
    if (line.keys.size() > kNamesShown) {
        text += fmt::format(" and {} more", line.keys.size() - kNamesShown);
    }
    return text;
}

// All ranks' keys, each of them once.
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

// Every rank is stuck.
std::vector<Verdict> all_fail(const std::vector<Line>& lines, const std::vector<int>& numbers) {
    std::vector<std::string> ranks;
    for (std::size_t r = 0; r < lines.size() && ranks.size() < kRanksShown; ++r) {
        ranks.push_back(fmt::format("rank {} {}", numbers[r], what_waits(lines[r])));
    }
    std::vector<Verdict> verdicts;
    Failing failing(verdicts, fmt::format("no operation was submitted on every rank: {}",
                                          fmt::join(ranks, "; ")));
    for (const Line& line : lines) {
        for (const std::string& key : line.keys) failing.add(key);
    }
    return verdicts;
}

void append_number(std::string& bytes, std::uint64_t number) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

}  // namespace

std::string Line::bytes() const {
    std::string bytes;
    append_number(bytes, (stuck ? 1u : 0u) | (closing ? 2u : 0u));
    for (const std::string& key : keys) {
        append_number(bytes, key.size());
        bytes += key;
    }
    return bytes;
}

bool Line::read(std::string_view bytes) {
    const auto number = [&bytes](std::uint64_t& value) {
        if (bytes.size() < sizeof value) return false;
        std::memcpy(&value, bytes.data(), sizeof value);
        bytes.remove_prefix(sizeof value);
        return true;
    };
    std::uint64_t flags = 0;
    if (!number(flags)) return false;
    stuck = (flags & 1) != 0;
    closing = (flags & 2) != 0;
    keys.clear();
    while (!bytes.empty()) {
        std::uint64_t length = 0;
        if (!number(length) || length > bytes.size()) return false;
        keys.emplace_back(bytes.substr(0, length));
        bytes.remove_prefix(length);
    }
    return true;
}

std::vector<Verdict> judge(const std::vector<Line>& lines, const std::vector<int>& numbers) {
    const std::vector<KeyOf> keys = by_name(lines);
    std::vector<Verdict> verdicts;
    for (const std::string& key : lines[0].keys) {
        const std::string_view name = name_of(key);
        const bool everywhere = std::all_of(keys.begin(), keys.end(),
                                            [&](const KeyOf& line) { return line.contains(name); });
        if (!everywhere) continue;
        std::string wrong = difference(keys, name, numbers);
        if (wrong.empty()) {
            verdicts.push_back({key, {}});
            continue;
        }
        Failing failing(verdicts, std::move(wrong));
        for (const KeyOf& line : keys) failing.add(*line.at(name));
    }
    const bool stuck =
        std::all_of(lines.begin(), lines.end(), [](const Line& line) { return line.stuck; });
    return verdicts.empty() && stuck ? all_fail(lines, numbers) : verdicts;
}

std::string describe_stall(const std::vector<Line>& lines, const std::vector<int>& numbers) {
    const std::vector<KeyOf> keys = by_name(lines);
    std::map<std::string_view, std::vector<int>> missing;
    for (const KeyOf& line : keys) {
        for (const auto& [name, key] : line) missing.try_emplace(name);
    }
    std::string text;
    std::size_t shown = 0;
    for (auto& [name, ranks] : missing) {
        for (std::size_t r = 0; r < keys.size(); ++r) {
            if (!keys[r].contains(name)) ranks.push_back(numbers[r]);
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

// SPDX-License-Identifier: Apache-2.0
#include "slurm/host_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <utility>

namespace batchai::slurm {
namespace {

constexpr std::size_t kMaxNodes = 1u << 16;  // as Slurm's own lists
constexpr std::size_t kMaxName = 255;
constexpr std::size_t kMaxDigits = 9;  // of a number that is counted with
constexpr std::size_t kMaxWidth = 18;  // of a number in brackets, which a long can count with

// Commas outside brackets separate.
std::vector<std::string> split(std::string_view list) {
    std::vector<std::string> parts(1);
    int depth = 0;
    for (char c : list) {
        depth += c == '[' ? 1 : c == ']' ? -1 : 0;
        if (c == ',' && depth == 0) {
            parts.emplace_back();
        } else {
            parts.back() += c;
        }
    }
    return parts;
}

bool is_number(const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// "1-3,07" -> 1 2 3 07; leading zeros keep their width. Nothing of more than kMaxNodes numbers, of
// one that is too long to count with, or of what is not a number.
std::vector<std::string> expand_range(const std::string& ranges) {
    std::vector<std::string> numbers;
    for (const std::string& range : split(ranges)) {
        const auto dash = range.find('-');
        const std::string low = range.substr(0, dash);
        const std::string high = dash == range.npos ? low : range.substr(dash + 1);
        if (std::max(low.size(), high.size()) > kMaxWidth || !is_number(low) || !is_number(high))
            return {};
        const long first = std::strtol(low.c_str(), nullptr, 10);
        const long last = std::strtol(high.c_str(), nullptr, 10);
        if (last < first) continue;
        if (numbers.size() + static_cast<std::size_t>(last - first) >= kMaxNodes) return {};
        for (long n = first; n <= last; ++n) {
            numbers.push_back(
                fmt::format("{:0{}}", n, low.size() > 1 && low[0] == '0' ? low.size() : 0));
        }
    }
    return numbers;
}

// One "rack[0-1]n[1-2]" into all its names. Nothing of names that are too long for a host.
std::vector<std::string> expand_one(const std::string& pattern) {
    const auto open = pattern.find('[');
    const auto close = pattern.find(']');
    if (open == std::string::npos && close == std::string::npos) return {pattern};
    if (open == std::string::npos || close == std::string::npos || close < open) return {};
    std::vector<std::string> names;
    const std::vector<std::string> tails = expand_one(pattern.substr(close + 1));
    const std::vector<std::string> numbers =
        expand_range(pattern.substr(open + 1, close - open - 1));
    if (numbers.size() * tails.size() > kMaxNodes) return {};
    if (numbers.empty() || tails.empty()) return {};
    if (open + numbers[0].size() + tails[0].size() > kMaxName) return {};
    for (const std::string& number : numbers) {
        for (const std::string& tail : tails) {
            names.push_back(pattern.substr(0, open) + number + tail);
        }
    }
    return names;
}

// A name around its last number; without one, or with one too long to count with, all is before it.
struct Name {
    std::string before, digits, after;

    explicit Name(const std::string& name) : before(name) {
        constexpr const char* kDigits = "0123456789";
        const auto last = name.find_last_of(kDigits);
        if (last == name.npos) return;
        const auto other = name.find_last_not_of(kDigits, last);
        const auto begin = other == name.npos ? 0 : other + 1;
        if (last + 1 - begin > kMaxDigits) return;
        before = name.substr(0, begin);
        digits = name.substr(begin, last + 1 - begin);
        after = name.substr(last + 1);
    }

    // Whether both differ in their numbers alone.
    bool is_like(const Name& other) const {
        return !digits.empty() && !other.digits.empty() && before == other.before &&
               after == other.after;
    }
    bool follows(const Name& other) const {
        if (!is_like(other)) return false;
        const std::size_t width = other.digits[0] == '0' ? other.digits.size() : 0;
        return digits == fmt::format("{:0{}}", std::stol(other.digits) + 1, width);
    }
};

}  // namespace

std::vector<std::string> expand_hostlist(const std::string& list) {
    std::vector<std::string> names;
    for (const std::string& pattern : split(list)) {
        if (pattern.empty()) continue;
        std::vector<std::string> expanded = expand_one(pattern);
        if (expanded.empty() || names.size() + expanded.size() > kMaxNodes) return {};
        std::move(expanded.begin(), expanded.end(), std::back_inserter(names));
    }
    return names;
}

std::string hostlist_of(const std::vector<std::string>& names) {
    const std::vector<Name> parts(names.begin(), names.end());
    std::string list;
    for (std::size_t i = 0; i < parts.size();) {
        const Name& first = parts[i];
        const std::size_t begin = i;
        std::string ranges;
        while (i < parts.size() && (i == begin || parts[i].is_like(first))) {
            const std::size_t low = i++;
            while (i < parts.size() && parts[i].follows(parts[i - 1])) ++i;
            ranges += (ranges.empty() ? "" : ",") + parts[low].digits;
            if (i - 1 > low) ranges += "-" + parts[i - 1].digits;
        }
        list += (list.empty() ? "" : ",") +
                (i - begin == 1 ? names[begin] : first.before + "[" + ranges + "]" + first.after);
    }
    return list;
}

}  // namespace batchai::slurm

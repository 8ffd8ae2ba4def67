// SPDX-License-Identifier: Apache-2.0
#include "sys/text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <sstream>

namespace batchai::sys {
namespace {

struct Character {
    std::size_t length = 0;  // in bytes; 0: not UTF-8
    char32_t code = 0;
};

// The first character of a text that is not empty.
Character first_of(std::string_view text) {
    const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    if (byte(0) < 0x80) return {1, byte(0)};
    const std::size_t length = byte(0) < 0xc0   ? 0
                               : byte(0) < 0xe0 ? 2
                               : byte(0) < 0xf0 ? 3
                               : byte(0) < 0xf8 ? 4
                                                : 0;
    if (length == 0 || length > text.size()) return {};
    char32_t code = byte(0) & (0xffU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0U) != 0x80) return {};
        code = code << 6 | (byte(i) & 0x3fU);
    }
    constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = code >= 0xd800 && code <= 0xdfff;
    if (code < kLeast[length] || code > 0x10ffff || surrogate) return {};
    return {length, code};
}

bool commands_terminals(char32_t code) {
    constexpr std::array<std::array<char32_t, 2>, 6> kRanges = {{{0, 0x1f},
                                                                 {0x7f, 0x9f},
                                                                 {0x61c, 0x61c},
                                                                 {0x200e, 0x200f},
                                                                 {0x2028, 0x202e},
                                                                 {0x2066, 0x2069}}};
    return std::any_of(kRanges.begin(), kRanges.end(),
                       [code](const auto& range) { return code >= range[0] && code <= range[1]; });
}

std::string escape(char32_t code) {
    switch (code) {
        case '\n':
            return "\\n";
        case '\r':
            return "\\r";
        case '\t':
            return "\\t";
        default:
            break;
    }
    char text[16];
    std::snprintf(text, sizeof text, "\\u%04x", static_cast<unsigned>(code));
    return text;
}

std::string with_escapes(std::string_view text, bool keeps_line_ends) {
    std::string shown;
    shown.reserve(text.size());
    while (!text.empty()) {
        const Character next = first_of(text);
        const std::size_t length = std::max<std::size_t>(next.length, 1);
        if (next.length == 0) {
            char byte[8];
            std::snprintf(byte, sizeof byte, "\\x%02x", static_cast<unsigned char>(text[0]));
            shown += byte;
        } else if (commands_terminals(next.code) && !(keeps_line_ends && next.code == '\n')) {
            shown += escape(next.code);
        } else {
            shown += text.substr(0, length);
        }
        text.remove_prefix(length);
    }
    return shown;
}

// Levenshtein's distance, by rows.
std::size_t distance(const std::string& a, const std::string& b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t above = row[j];
            row[j] =
                std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
            diagonal = above;
        }
    }
    return row[b.size()];
}

}  // namespace

std::string printable(std::string_view line) {
    return with_escapes(line, false);
}

std::string printable_lines(std::string_view text) {
    return with_escapes(text, true);
}

std::string plural(long long count, const std::string& noun) {
    return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string closest(const std::string& word, const std::set<std::string>& candidates,
                    std::size_t edits) {
    std::string best;
    std::size_t best_distance = edits + 1;
    for (const std::string& candidate : candidates) {
        const std::size_t d = distance(word, candidate);
        if (d < best_distance && d < candidate.size()) {
            best = candidate;
            best_distance = d;
        }
    }
    return best;
}

std::string number_list(const std::vector<int>& numbers) {
    std::string text;
    for (std::size_t i = 0; i < numbers.size();) {
        std::size_t last = i;
        while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
        text += (text.empty() ? "" : ",") + std::to_string(numbers[i]);
        if (last > i) text += "-" + std::to_string(numbers[last]);
        i = last + 1;
    }
    return text;
}

std::vector<int> expand_counts(const std::string& list) {
    constexpr std::size_t kMost = 1u << 20;
    std::vector<int> counts;
    for (std::size_t begin = 0; begin <= list.size();) {
        const std::size_t end = std::min(list.find(',', begin), list.size());
        const std::string entry = list.substr(begin, end - begin);
        begin = end + 1;
        int count = 0, times = 1;
        if (std::sscanf(entry.c_str(), "%9d(x%9d)", &count, &times) < 1 || count < 0) return {};
        const auto more = static_cast<std::size_t>(times);
        if (times < 1 || more > kMost || counts.size() + more > kMost) return {};
        counts.insert(counts.end(), more, count);
    }
    return counts;
}

std::string counts_of(const std::vector<int>& counts) {
    std::string list;
    for (std::size_t i = 0; i < counts.size();) {
        std::size_t end = i;
        while (end < counts.size() && counts[end] == counts[i]) ++end;
        list += (list.empty() ? "" : ",") + std::to_string(counts[i]);
        if (end - i > 1) list += "(x" + std::to_string(end - i) + ")";
        i = end;
    }
    return list;
}

std::string first_line(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        if (line.find_first_not_of(" \t") != std::string::npos) return line;
    return {};
}

}  // namespace batchai::sys

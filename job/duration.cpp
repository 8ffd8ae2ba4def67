// SPDX-License-Identifier: Apache-2.0
#include "job/duration.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace batchai::job {

namespace {

constexpr long kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour;

// Removes a number of at most nine digits from the start of text.
std::optional<long> take_number(std::string_view& text) {
    const std::size_t end = text.find_first_not_of("0123456789");
    const std::string_view digits = text.substr(0, end);
    if (digits.empty() || digits.size() > 9) return std::nullopt;
    long number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    text.remove_prefix(digits.size());
    return number;
}

// Removes a fraction such as ".5" from the start of text and returns it: 0.5. Without one, 0.
double take_fraction(std::string_view& text) {
    if (!text.starts_with('.') && !text.starts_with(',')) return 0;
    const std::size_t end = std::min(text.find_first_not_of("0123456789", 1), text.size());
    double fraction = 0;
    double weight = 0.1;
    for (std::size_t i = 1; i < end; ++i, weight /= 10) fraction += (text[i] - '0') * weight;
    if (end > 1) text.remove_prefix(end);
    return fraction;
}

struct Unit {
    char letter;
    long seconds;
};

// "1H30M", "1.5H": each unit at most once, in this order.
template <std::size_t N>
bool take_units(std::string_view& text, const std::array<Unit, N>& units, long& seconds) {
    for (const Unit& unit : units) {
        std::string_view rest = text;
        const auto number = take_number(rest);
        if (!number) return true;
        const double fraction = take_fraction(rest);
        if (!rest.starts_with(unit.letter)) continue;
        rest.remove_prefix(1);
        const auto part = std::lround(fraction * static_cast<double>(unit.seconds));
        seconds += *number * unit.seconds + (unit.letter == 'S' ? 0 : part);
        text = rest;
    }
    return text.empty() || text.front() == 'T';
}

std::optional<long> iso(std::string_view text) {
    text.remove_prefix(1);
    long seconds = 0;
    if (!take_units(text, std::array<Unit, 2>{{{'W', 7 * kDay}, {'D', kDay}}}, seconds))
        return std::nullopt;
    if (text.starts_with('T')) {
        text.remove_prefix(1);
        if (text.empty() ||
            !take_units(text, std::array<Unit, 3>{{{'H', kHour}, {'M', kMinute}, {'S', 1}}},
                        seconds))
            return std::nullopt;
    }
    return text.empty() ? std::optional(seconds) : std::nullopt;
}

// "[d.]hh:mm:ss"
std::optional<long> dot_net(std::string_view text) {
    long seconds = 0;
    if (text.find('.') < text.find(':')) {
        const auto days = take_number(text);
        if (!days || !text.starts_with('.')) return std::nullopt;
        text.remove_prefix(1);
        seconds = *days * kDay;
    }
    constexpr Unit kParts[] = {{':', kHour}, {':', kMinute}, {'\0', 1}};
    constexpr long kMost[] = {23, 59, 59};
    for (int i = 0; i < 3; ++i) {
        const auto number = take_number(text);
        if (!number || *number > kMost[i]) return std::nullopt;
        seconds += *number * kParts[i].seconds;
        if (kParts[i].letter == '\0') break;
        if (!text.starts_with(kParts[i].letter)) return std::nullopt;
        text.remove_prefix(1);
    }
    take_fraction(text);
    return text.empty() ? std::optional(seconds) : std::nullopt;
}

}  // namespace

std::optional<long> parse_duration(std::string_view text) {
    const auto seconds = text.starts_with('P') ? iso(text) : dot_net(text);
    if (!seconds || *seconds < 1 || *seconds > kMaxDuration) return std::nullopt;
    return seconds;
}

std::string slurm_time(long seconds) {
    char text[64];
    std::snprintf(text, sizeof text, "%ld-%02ld:%02ld:%02ld", seconds / kDay,
                  seconds % kDay / kHour, seconds % kHour / kMinute, seconds % kMinute);
    return text;
}

}  // namespace batchai::job

// SPDX-License-Identifier: Apache-2.0
#include "cli/output/time_text.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <ctime>
#include <utility>

#include "sys/text.hpp"

namespace batchai::cli {
namespace {

constexpr long long kMicroseconds = 1'000'000;
constexpr long long kDay = 24LL * 60 * 60;

struct Parts {
    std::time_t seconds;
    long long microseconds;
};

Parts split(double time) {
    const auto total = std::llround(std::max(0.0, time) * static_cast<double>(kMicroseconds));
    return {static_cast<std::time_t>(total / kMicroseconds), total % kMicroseconds};
}

std::string with_separator(double time, char separator) {
    const Parts parts = split(time);
    const std::tm utc = fmt::gmtime(parts.seconds);
    return fmt::format("{:%Y-%m-%d}{}{:%H:%M:%S}.{:06}+00:00", utc, separator, utc,
                       parts.microseconds);
}

}  // namespace

std::string iso_time(double time) {
    return with_separator(time, 'T');
}

std::string iso_seconds(double time) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}+00:00", fmt::gmtime(split(time).seconds));
}

std::string plain_time(double time) {
    return with_separator(time, ' ');
}

std::string duration_text(double length) {
    const Parts parts = split(length);
    const long long days = parts.seconds / kDay;
    const long long rest = parts.seconds % kDay;
    std::string text;
    if (days > 0) text = sys::plural(days, "day") + ", ";
    text += fmt::format("{}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60);
    if (parts.microseconds > 0) text += fmt::format(".{:06}", parts.microseconds);
    return text;
}

std::optional<double> parse_age(std::string_view text) {
    constexpr std::array<std::pair<char, double>, 5> kUnits{
        {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', kDay}, {'w', 7 * kDay}}};
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool has_unit = error == std::errc() && end + 1 == text.data() + text.size();
    if (!has_unit || !std::isfinite(number) || number <= 0) return std::nullopt;
    for (const auto& [letter, seconds] : kUnits)
        if (letter == *end) return number * seconds;
    return std::nullopt;
}

}  // namespace batchai::cli

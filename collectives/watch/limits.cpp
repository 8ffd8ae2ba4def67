// SPDX-License-Identifier: Apache-2.0
#include "collectives/watch/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include "collectives/common/setting.hpp"

namespace batchai::coll {
namespace {

using Milliseconds = Limits::Milliseconds;

constexpr double kLeast = 0.1, kMost = 1e6;  // seconds

std::optional<Milliseconds> parse_seconds(const std::string& text) {
    char* end = nullptr;
    const double seconds = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0') return std::nullopt;
    if (seconds != 0 && !(seconds >= kLeast && seconds <= kMost)) return std::nullopt;
    return Milliseconds(static_cast<Milliseconds::rep>(seconds * 1000));
}

Milliseconds* find(Limits& limits, std::string_view name) {
    if (name == "process") return &limits.process;
    if (name == "node") return &limits.node;
    if (name == "stall") return &limits.stall;
    return nullptr;
}

}  // namespace

Milliseconds Limits::interval() const {
    Milliseconds least{250};
    for (const Milliseconds limit : {process, node, stall}) {
        if (limit.count() > 0) least = std::min(least, limit / 8);
    }
    return least;
}

sys::Result<Limits> parse_limits(std::string_view text) {
    Limits limits;
    while (!text.empty()) {
        const Setting setting = take_setting(text);
        Milliseconds* limit = find(limits, setting.name);
        if (limit == nullptr) {
            return sys::Error{fmt::format(
                "'{}' is not process=SECONDS, node=SECONDS or stall=SECONDS", setting.item)};
        }
        const auto value = parse_seconds(std::string(setting.value));
        if (!value) {
            return sys::Error{
                fmt::format("'{}': expected a number of seconds from {}, or 0 to turn it off",
                            setting.item, kLeast)};
        }
        *limit = *value;
    }
    return limits;
}

sys::Result<Limits> limits_from_environment() {
    const char* text = std::getenv(kWatchVariable);
    auto limits = parse_limits(text == nullptr ? "" : text);
    if (!limits) return limits.error().in(kWatchVariable);
    return limits;
}

}  // namespace batchai::coll

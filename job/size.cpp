// SPDX-License-Identifier: Apache-2.0
#include "job/size.hpp"

#include <charconv>

namespace batchai::job {

std::optional<std::uint64_t> parse_size(std::string_view text) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 53;
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || number == 0) return std::nullopt;
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    int shift = 0;
    if (unit == "K" || unit == "k")
        shift = 10;
    else if (unit == "M" || unit == "m")
        shift = 20;
    else if (unit == "G" || unit == "g")
        shift = 30;
    else if (!unit.empty())
        return std::nullopt;
    if (number > (kMost >> shift)) return std::nullopt;
    return number << shift;
}

std::optional<std::uint64_t> parse_docker_size(std::string_view text) {
    if (text.ends_with('b') || text.ends_with('B')) text.remove_suffix(1);
    return parse_size(text);
}

}  // namespace batchai::job

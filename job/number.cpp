// SPDX-License-Identifier: Apache-2.0
#include "job/number.hpp"

#include <algorithm>
#include <charconv>

namespace batchai::job {
namespace {

// A positive number, or 0 where an index may be 0. Nothing for another text.
std::optional<std::int64_t> digits(std::string_view text, std::int64_t least) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least)
        return std::nullopt;
    return value;
}

}  // namespace

Number Number::of_job(std::int64_t number) {
    Number job;
    if (number <= 0) return job;
    job.kind_ = Kind::job;
    job.own_ = job.whole_ = number;
    return job;
}

Number Number::of_task(std::int64_t array, std::int64_t index, std::int64_t own) {
    Number task = of_job(array);
    task.kind_ = Kind::task;
    task.own_ = own;
    task.index_ = index;
    return task;
}

Number Number::of_component(std::int64_t first, std::int64_t index, std::int64_t own) {
    Number component = of_task(first, index, own);
    component.kind_ = Kind::component;
    return component;
}

std::string Number::text() const {
    std::string number = std::to_string(whole_);
    switch (kind_) {
        case Kind::none:
            return {};
        case Kind::job:
            return number;
        case Kind::task:
            return number + '_' + std::to_string(index_);
        case Kind::component:
            return number + '+' + std::to_string(index_);
    }
    return {};
}

std::optional<std::int64_t> parse_index(std::string_view text) {
    return digits(text, 0);
}

std::optional<Number> parse_number(std::string_view text) {
    const std::size_t sign = std::min(text.find_first_of("_+"), text.size());
    const auto whole = digits(text.substr(0, sign), 1);
    if (!whole) return std::nullopt;
    if (sign == text.size()) return Number::of_job(*whole);
    const auto index = parse_index(text.substr(sign + 1));
    if (!index) return std::nullopt;
    return text[sign] == '_' ? Number::of_task(*whole, *index)
                             : Number::of_component(*whole, *index);
}

}  // namespace batchai::job

// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/fields.hpp"

#include <charconv>

namespace batchai::spank {

sys::Result<Fields> Fields::parse(std::string_view text) {
    Fields fields;
    while (!text.empty()) {
        const auto end = text.find('\0');
        if (end == text.npos) return sys::Error{"the list ends in the middle of a field"};
        const auto entry = text.substr(0, end);
        if (entry.find('=') == entry.npos) return sys::Error{"a field has no name"};
        fields.entries_.emplace_back(entry);
        text.remove_prefix(end + 1);
    }
    return fields;
}

void Fields::add(std::string_view name, std::string_view value) {
    std::string entry(name);
    entry += '=';
    entry += value.substr(0, value.find('\0'));
    entries_.push_back(std::move(entry));
}

void Fields::add(std::string_view name, long long number) {
    add(name, std::to_string(number));
}

std::string Fields::get(std::string_view name) const {
    auto values = all(name);
    return values.empty() ? std::string() : values.front();
}

std::vector<std::string> Fields::all(std::string_view name) const {
    std::vector<std::string> values;
    for (const auto& entry : entries_)
        if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name))
            values.push_back(entry.substr(name.size() + 1));
    return values;
}

sys::Result<unsigned> Fields::number(std::string_view name) const {
    const std::string text = get(name);
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
        return sys::Error{std::string(name) + ": not a number: '" + text + "'"};
    return value;
}

std::string Fields::text() const {
    std::string text;
    for (const auto& entry : entries_) text.append(entry).push_back('\0');
    return text;
}

std::vector<std::string> split_nonempty(std::string_view list, char separator) {
    std::vector<std::string> parts;
    while (!list.empty()) {
        const auto end = list.find(separator);
        if (end != 0) parts.emplace_back(list.substr(0, end));
        if (end == list.npos) break;
        list.remove_prefix(end + 1);
    }
    return parts;
}

}  // namespace batchai::spank

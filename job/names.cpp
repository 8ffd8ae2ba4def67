// SPDX-License-Identifier: Apache-2.0
#include "job/names.hpp"

#include <algorithm>

namespace batchai::job {

namespace {

bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_control(char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

bool is_component(std::string_view text) {
    return !text.empty() && text.size() <= 255 && text != "." && text != ".." && text[0] != '-' &&
           std::all_of(text.begin(), text.end(),
                       [](char c) { return is_word(c) || c == '.' || c == '-'; });
}

}  // namespace

bool has_control(std::string_view text) {
    return std::any_of(text.begin(), text.end(), is_control);
}

bool is_relative_path(std::string_view text) {
    if (text.size() > 1024) return false;
    while (true) {
        const std::size_t slash = text.find('/');
        if (!is_component(text.substr(0, slash))) return false;
        if (slash == text.npos) return true;
        text.remove_prefix(slash + 1);
    }
}

bool is_absolute_path(std::string_view text) {
    if (text.size() < 2 || text.size() > 4095 || text[0] != '/') return false;
    if (std::any_of(text.begin(), text.end(), is_control)) return false;
    while (!text.empty()) {
        text.remove_prefix(1);
        const std::size_t slash = std::min(text.find('/'), text.size());
        const std::string_view name = text.substr(0, slash);
        if (name.empty() || name == "." || name == "..") return false;
        text.remove_prefix(slash);
    }
    return true;
}

bool is_within(std::string_view path, std::string_view directory) {
    while (directory.size() > 1 && directory.back() == '/') directory.remove_suffix(1);
    if (directory == "/") return path.starts_with('/');
    return path.starts_with(directory) &&
           (path.size() == directory.size() || path[directory.size()] == '/');
}

std::string without_trailing_slashes(std::string path) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    return path;
}

bool is_variable_name(std::string_view text) {
    return !text.empty() && !(text[0] >= '0' && text[0] <= '9') &&
           std::all_of(text.begin(), text.end(), is_word);
}

bool is_object_name(std::string_view text) {
    return text.size() <= kObjectNameMaximum &&
           is_component(text.substr(text.substr(0, 1) == "-" ? 1 : 0));
}

std::string lower_case(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return text;
}

bool equal_but_case(std::string_view a, std::string_view b) {
    return lower_case(std::string(a)) == lower_case(std::string(b));
}

}  // namespace batchai::job

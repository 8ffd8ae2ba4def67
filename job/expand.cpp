// SPDX-License-Identifier: Apache-2.0
#include "job/expand.hpp"

#include <algorithm>
#include <cctype>

namespace batchai::job {

namespace {

// Variables that refer to each other may grow without end. A value that does not fit counts as
// unknown.
constexpr std::size_t kMaxExpanded = 1 << 20;

// The length of the variable's name at the start of text.
std::size_t name_length(std::string_view text) {
    std::size_t n = 0;
    while (n < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[n])) != 0 || text[n] == '_'))
        ++n;
    return n;
}

}  // namespace

std::string expand(std::string_view text, const Environment& environment,
                   const OnUnknown& on_unknown) {
    std::string result;
    while (!text.empty()) {
        const std::size_t dollar = text.find('$');
        result += text.substr(0, dollar);
        if (dollar == text.npos) break;
        text.remove_prefix(dollar);
        const bool braces = text.substr(0, 2) == "${";
        const std::size_t begin = braces ? 2 : 1;
        const std::size_t length = name_length(text.substr(begin));
        const std::size_t end = begin + length + (braces ? 1 : 0);
        const std::string name(text.substr(begin, length));
        const bool closed = !braces || text.substr(begin + length, 1) == "}";
        if (closed && name.starts_with("AZ_BATCHAI_")) {
            const auto value = environment.find(name);
            if (value != environment.end() && result.size() + value->second.size() <= kMaxExpanded)
                result += value->second;
            else if (on_unknown)
                on_unknown(name);
            text.remove_prefix(end);
        } else {
            result += '$';
            text.remove_prefix(1);
        }
    }
    return result;
}

std::string unknown_placeholder(const std::string& argument,
                                const std::vector<std::string>& known) {
    for (std::size_t at = argument.find('{'); at != argument.npos;
         at = argument.find('{', at + 1)) {
        const std::size_t end = argument.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", at + 1);
        if (end == argument.npos || end == at + 1 || argument[end] != '}') continue;
        const std::string word = argument.substr(at, end + 1 - at);
        if (std::find(known.begin(), known.end(), word) == known.end()) return word;
    }
    return {};
}

sys::Result<std::vector<std::string>> expand_placeholders(const std::vector<std::string>& command,
                                                          const Placeholders& placeholders) {
    std::vector<std::string> expanded;
    for (const std::string& argument : command) {
        std::string text;
        for (std::size_t at = 0; at < argument.size();) {
            const auto found = std::find_if(
                placeholders.begin(), placeholders.end(), [&](const auto& placeholder) {
                    return argument.compare(at, placeholder.first.size(), placeholder.first) == 0;
                });
            if (found == placeholders.end()) {
                text += argument[at++];
                continue;
            }
            if (found->second.empty())
                return sys::Error{"site policy: " + found->first + " has no value here"};
            text += found->second;
            at += found->first.size();
        }
        expanded.push_back(std::move(text));
    }
    return expanded;
}

}  // namespace batchai::job

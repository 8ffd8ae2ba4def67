// SPDX-License-Identifier: Apache-2.0
#include "job/placeholder.hpp"

#include <algorithm>

namespace batchai::job {

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

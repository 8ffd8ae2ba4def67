// SPDX-License-Identifier: Apache-2.0
#include "sys/shell.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace batchai::sys {

std::string shell_quoted(const std::string& word) {
    const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 || std::strchr("_-./=,:@%+", c) != nullptr;
    });
    if (plain) return word;
    std::string quoted = "'";
    for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
}

}  // namespace batchai::sys

// SPDX-License-Identifier: Apache-2.0
#include "sys/shell.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>

#include "sys/text.hpp"

namespace batchai::sys {
namespace {

// $'...': every byte that is not plain ASCII becomes its number.
std::string ansi_c_quoted(const std::string& word) {
    std::string quoted = "$'";
    for (const char c : word) {
        char text[8] = {c};
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte >= 0x7f)
            std::snprintf(text, sizeof text, "\\x%02x", byte);
        else if (c == '\'' || c == '\\')
            std::snprintf(text, sizeof text, "\\%c", c);
        quoted += text;
    }
    return quoted + "'";
}

}  // namespace

std::string shell_quoted(const std::string& word) {
    const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 || std::strchr("_-./=,:@%+", c) != nullptr;
    });
    if (plain) return word;
    if (printable_lines(word) != word) return ansi_c_quoted(word);
    std::string quoted = "'";
    for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
}

Result<std::vector<std::string>> shell_words(const std::string& line) {
    std::vector<std::string> words;
    bool in_word = false;
    char quote = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
        char c = line[i];
        if (quote == 0 && (c == ' ' || c == '\t')) {
            in_word = false;
            continue;
        }
        if (!in_word) words.emplace_back();
        in_word = true;
        if (c == quote || (quote == 0 && (c == '\'' || c == '"'))) {
            quote = quote == 0 ? c : '\0';
            continue;
        }
        const bool escapes =
            c == '\\' && quote != '\'' && i + 1 < line.size() &&
            (quote == 0 || line[i + 1] == '"' || line[i + 1] == '\\' || line[i + 1] == '$');
        if (escapes) c = line[++i];
        words.back() += c;
    }
    if (quote != 0) return Error{std::string("a quote is not closed: ") + quote};
    return words;
}

}  // namespace batchai::sys

// SPDX-License-Identifier: Apache-2.0
//
// Quotes words of a command line for bash, and reads such words.
#pragma once

#include <string>
#include <vector>

#include "sys/result.hpp"

namespace batchai::sys {

// Quotes only if necessary. A word that could control a terminal gets escapes ($'\x1b').
std::string shell_quoted(const std::string& word);

// The words of a line: blanks separate, and '...', "..." and backslashes quote as in a shell.
// Nothing is expanded. An error if a quote is not closed.
Result<std::vector<std::string>> shell_words(const std::string& line);

}  // namespace batchai::sys

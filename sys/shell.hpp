// SPDX-License-Identifier: Apache-2.0
//
// Quotes words of a command line for bash.
#pragma once

#include <string>

namespace batchai::sys {

// Quotes only if necessary. A word that could control a terminal gets escapes ($'\x1b').
std::string shell_quoted(const std::string& word);

}  // namespace batchai::sys

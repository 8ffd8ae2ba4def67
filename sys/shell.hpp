// SPDX-License-Identifier: Apache-2.0
//
// Words of a command line as bash would need them.
#pragma once

#include <string>

namespace batchai::sys {

// Quoted only where necessary; a word that could command a terminal has escapes ($'\x1b').
std::string shell_quoted(const std::string& word);

}  // namespace batchai::sys

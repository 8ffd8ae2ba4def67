// SPDX-License-Identifier: Apache-2.0
//
// Words of a command line as a shell would need them.
#pragma once

#include <string>

namespace batchai::sys {

// Quoted only where necessary.
std::string shell_quoted(const std::string& word);

}  // namespace batchai::sys

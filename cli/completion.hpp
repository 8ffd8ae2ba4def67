// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace batchai::cli {

// The completion script for bash of a command with all its verbs.
std::string bash_completion(const CLI::App&);

}  // namespace batchai::cli

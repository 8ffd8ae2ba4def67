// SPDX-License-Identifier: Apache-2.0
//
// The one-line error for a command line that is not understood. It names the unknown word and the
// closest known one.
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace batchai::cli {

// Call it with the error that command.parse() has thrown.
std::string explain(const CLI::App& command, const CLI::ParseError&);

}  // namespace batchai::cli

// SPDX-License-Identifier: Apache-2.0
//
// What a command line that is not understood is told, in one line: the unknown word first, with the
// one that was probably meant.
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace batchai::cli {

// After command.parse() has thrown the error.
std::string explain(const CLI::App& command, const CLI::ParseError&);

}  // namespace batchai::cli

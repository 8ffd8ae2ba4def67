// SPDX-License-Identifier: Apache-2.0
//
// The whole command line of batchai.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace batchai::cli {

// Parses a command line after the program's name, in any spelling of az (spellings.hpp). "help job
// create" is "job create --help", and no word asks for help too. Throws CLI::ParseError.
void parse(CLI::App&, std::vector<std::string> words);

// Runs one command and returns the exit code.
int run(int argc, char** argv);

}  // namespace batchai::cli

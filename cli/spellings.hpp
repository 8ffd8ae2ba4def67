// SPDX-License-Identifier: Apache-2.0
//
// Command lines as scripts for az have them, in the spelling that CLI11 reads: commands and options
// of az's earlier releases (the tables in spellings.cpp), unique prefixes of long options, and a
// '=' between a short option and its value. --help shows today's spelling only;
// docs/batch-ai.md lists the earlier ones.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace batchai::cli {

// words: the command line after the program's name, in its order. Words after "--", values of
// options and words that are not understood stay as they are.
std::vector<std::string> todays_words(const CLI::App& command, std::vector<std::string> words);

// The tables, for the documentation: "job list-files" and "job file list", or "job create
// --container-name" and "--bfs-name".
struct Spelling {
    std::string earlier;
    std::string today;
};
std::vector<Spelling> earlier_spellings();

}  // namespace batchai::cli

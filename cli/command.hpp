// SPDX-License-Identifier: Apache-2.0
//
// The whole command line of batchai.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class FormatterBase;
class ParseError;
}  // namespace CLI

namespace batchai::cli {

// Parses a command line after the program's name, in any spelling of az (todays_words). "help job
// create" is "job create --help", and no word asks for help too. Throws CLI::ParseError.
void parse(CLI::App&, std::vector<std::string> words);

// Runs one command and returns the exit code.
int run(int argc, char** argv);

// The one-line error for a command line that is not understood. It names the unknown word and the
// closest known one. Call it with the error that parse() has thrown.
std::string explain(const CLI::App& command, const CLI::ParseError&);

// The text of --help, in CLI11's form, with lines of at most 100 columns. For App::formatter().
// Subcommands that are added later inherit it.
std::shared_ptr<CLI::FormatterBase> help_formatter();

// Continuation lines start in the column of the description. Words are not split.
std::string wrapped(const std::string& text, std::size_t widest);

// The completion script for bash of a command with all its verbs.
std::string bash_completion(const CLI::App&);

// Command lines as scripts for az have them, in the spelling that CLI11 reads: commands and options
// of az's earlier releases (the tables in spellings.cpp), unique prefixes of long options, and a
// '=' between a short option and its value. --help shows today's spelling only;
// docs/batch-ai.md lists the earlier ones.
//
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

// SPDX-License-Identifier: Apache-2.0
//
// The text of --help, in CLI11's form, with lines of at most 100 columns.
#pragma once

#include <memory>
#include <string>

namespace CLI {
class FormatterBase;
}

namespace batchai::cli {

// For App::formatter(). Subcommands that are added later inherit it.
std::shared_ptr<CLI::FormatterBase> help_formatter();

// Continuation lines start in the column of the description. Words are not split.
std::string wrapped(const std::string& text, std::size_t widest);

}  // namespace batchai::cli

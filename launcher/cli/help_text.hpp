// SPDX-License-Identifier: Apache-2.0
//
// The text of --help: as CLI11 writes it, in lines of at most 100 columns.
#pragma once

#include <memory>
#include <string>

namespace CLI {
class FormatterBase;
}

namespace batchai::cli {

// For App::formatter(); commands that are added later inherit it.
std::shared_ptr<CLI::FormatterBase> help_formatter();

// A longer line goes on below the start of its description. A word stays whole.
std::string wrapped(const std::string& text, std::size_t widest);

}  // namespace batchai::cli

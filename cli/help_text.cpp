// SPDX-License-Identifier: Apache-2.0
#include "cli/help_text.hpp"

#include <CLI/CLI.hpp>
#include <sstream>

namespace batchai::cli {
namespace {

constexpr std::size_t kWidest = 100;

class HelpFormatter : public CLI::Formatter {
  public:
    std::string make_help(const CLI::App* app, std::string name,
                          CLI::AppFormatMode mode) const override {
        return wrapped(CLI::Formatter::make_help(app, std::move(name), mode), kWidest);
    }
};

// The column of the description: after the last gap behind the option's names and value.
std::size_t description_column(const std::string& line, std::size_t widest) {
    const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
    const std::size_t gap = line.find("  ", first);
    if (gap == line.npos || gap >= widest) return first;
    return line.find_first_not_of(' ', gap);
}

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() {
    return std::make_shared<HelpFormatter>();
}

std::string wrapped(const std::string& text, std::size_t widest) {
    std::string result;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t column = description_column(line, widest);
        while (line.size() > widest) {
            std::size_t space = line.rfind(' ', widest);
            if (space == line.npos || space <= column) space = line.find(' ', widest);
            if (space == line.npos) break;  // one long word
            result += line.substr(0, space) + "\n";
            line = std::string(column, ' ') + line.substr(space + 1);
        }
        result += line + "\n";
    }
    return result;
}

}  // namespace batchai::cli

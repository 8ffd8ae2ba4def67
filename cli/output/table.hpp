// SPDX-License-Identifier: Apache-2.0
//
// Tables in az's form (the "simple" format of Python's tabulate): two spaces between columns, each
// column at least two wider than its title, integers aligned right.
#pragma once

#include <string>
#include <vector>

namespace batchai::cli {

struct Table {
    std::vector<std::string> titles;
    std::vector<std::vector<std::string>> rows;  // each has as many cells as titles
    std::vector<std::string> spare = {};         // titles of columns that may be left out
    std::size_t title_padding = 2;               // as in az

    // Title line, rule and rows, each ended by a newline; nothing if there are no rows. widest: the
    // columns of the terminal, 0 for no limit. A wider table first loses the padding of the titles,
    // then the spare columns in their order. Then the ends of the longest cells are replaced by
    // "~".
    std::string text(std::size_t widest = 0) const;
};

// The text's first characters, with "~" at their end if there are more than fit.
std::string cut(const std::string& text, std::size_t columns);

// The width of the terminal at a descriptor; 0: it is not a terminal.
std::size_t terminal_width(int fd);

}  // namespace batchai::cli

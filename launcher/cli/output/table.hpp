// SPDX-License-Identifier: Apache-2.0
//
// Tables as az prints them (the "simple" format of Python's tabulate): two spaces between columns,
// a column at least two wider than its title, columns of integers to the right.
#pragma once

#include <string>
#include <vector>

namespace batchai::cli {

struct Table {
    std::vector<std::string> titles;
    std::vector<std::vector<std::string>> rows;  // each as long as titles
    std::vector<std::string> spare = {};         // titles that a narrow terminal does without

    // Title line, rule and rows, each ended by a newline; nothing when there are no rows.
    // widest: the columns of a terminal, 0 for none. A wider table has narrower columns: first the
    // padding of the titles goes, then spare columns in their order, then the ends of the longest
    // cells, which become "~".
    std::string text(std::size_t widest = 0) const;
};

// The columns of the terminal that a descriptor is; 0 where it is none.
std::size_t terminal_width(int fd);

}  // namespace batchai::cli

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

    // Title line, rule and rows, each ended by a newline; nothing when there are no rows.
    std::string text() const;
};

}  // namespace batchai::cli

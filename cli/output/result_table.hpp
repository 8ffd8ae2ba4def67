// SPDX-License-Identifier: Apache-2.0
//
// The table of a result without a table of its own (--query, a group). As in az: objects become
// rows, and their scalars become columns titled like the keys, in the order of the keys. Arrays
// become rows with the titles Column1, Column2, ….
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/output/table.hpp"

namespace batchai::cli {

Table result_table(const nlohmann::ordered_json&);

// A scalar as the text of a cell: without quotes, and empty for null.
std::string cell(const nlohmann::json&);

// The cell of document["a"]["b"]["c"] for the path "a/b/c"; empty if there is none.
std::string cell_at(const nlohmann::json& document, const std::string& path);

// One row per element of an array, or one row for an object.
struct TableColumn {
    std::string title;
    std::string path;
};
Table table_of(const nlohmann::json& result, const std::vector<TableColumn>& columns);

}  // namespace batchai::cli

// SPDX-License-Identifier: Apache-2.0
//
// The table of a result that has no table of its own (a --query, a group): as az does it, objects
// become rows, their scalars columns titled like the keys.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "launcher/cli/output/table.hpp"

namespace batchai::cli {

Table result_table(const nlohmann::json&);

// The text of a scalar in a cell: no quotes, nothing for null.
std::string cell(const nlohmann::json&);

// The cell of document[path]: "a/b/c"; empty where it is not there.
std::string cell_at(const nlohmann::json& document, const std::string& path);

// One row per element of an array, or one row for an object.
struct TableColumn {
    std::string title;
    std::string path;
};
Table table_of(const nlohmann::json& result, const std::vector<TableColumn>& columns);

}  // namespace batchai::cli

// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/output/result_table.hpp"

#include <algorithm>
#include <cctype>

#include "launcher/cli/output/json_text.hpp"

namespace batchai::cli {
namespace {

// "nodeCount" becomes "NodeCount".
std::string title_of(const std::string& key) {
    std::string title = key;
    if (!title.empty())
        title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
    return title;
}

nlohmann::json as_array(const nlohmann::json& result) {
    return result.is_array() ? result : nlohmann::json::array({result});
}

}  // namespace

std::string cell(const nlohmann::json& value) {
    if (value.is_null() || value.is_structured()) return {};
    if (value.is_string()) return value.get<std::string>();
    if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
    return json_text(value);
}

std::string cell_at(const nlohmann::json& document, const std::string& path) {
    const nlohmann::json* place = &document;
    for (std::size_t start = 0; start <= path.size();) {
        const std::size_t end = std::min(path.find('/', start), path.size());
        if (!place->is_object()) return {};
        const auto found = place->find(path.substr(start, end - start));
        if (found == place->end()) return {};
        place = &*found;
        start = end + 1;
    }
    return cell(*place);
}

Table table_of(const nlohmann::json& result, const std::vector<TableColumn>& columns) {
    Table table;
    for (const auto& column : columns) table.titles.push_back(column.title);
    for (const auto& item : as_array(result)) {
        auto& row = table.rows.emplace_back();
        for (const auto& column : columns) row.push_back(cell_at(item, column.path));
    }
    return table;
}

Table result_table(const nlohmann::json& result) {
    const nlohmann::json rows = as_array(result);
    std::vector<TableColumn> columns;
    for (const auto& row : rows) {
        if (!row.is_object()) continue;
        for (const auto& [key, value] : row.items()) {
            const bool known =
                std::any_of(columns.begin(), columns.end(),
                            [&k = key](const TableColumn& column) { return column.path == k; });
            if (!known && !value.is_structured()) columns.push_back({title_of(key), key});
        }
    }
    if (!columns.empty()) return table_of(rows, columns);

    Table table{{"Result"}, {}};
    for (const auto& row : rows)
        if (!row.is_structured()) table.rows.push_back({cell(row)});
    return table;
}

}  // namespace batchai::cli

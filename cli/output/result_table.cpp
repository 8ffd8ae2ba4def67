// SPDX-License-Identifier: Apache-2.0
#include "cli/output/result_table.hpp"

#include <algorithm>
#include <cctype>

#include "cli/output/result_text.hpp"

namespace batchai::cli {
namespace {

using nlohmann::ordered_json;

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

// The rows are arrays. A shorter row ends with empty cells.
Table table_of_arrays(const ordered_json& rows) {
    Table table;
    const auto longest = std::max_element(
        rows.begin(), rows.end(),
        [](const ordered_json& a, const ordered_json& b) { return a.size() < b.size(); });
    for (std::size_t i = 1; i <= longest->size(); ++i)
        table.titles.push_back("Column" + std::to_string(i));
    for (const ordered_json& row : rows) {
        auto& cells = table.rows.emplace_back();
        for (const ordered_json& value : row)
            cells.push_back(value.is_structured() ? json_text(value) : cell(value));
        cells.resize(longest->size());
    }
    return table;
}

Table result_table(const ordered_json& result) {
    const ordered_json rows = result.is_array() ? result : ordered_json::array({result});
    const bool are_arrays = std::all_of(rows.begin(), rows.end(),
                                        [](const ordered_json& row) { return row.is_array(); });
    if (are_arrays && !rows.empty()) return table_of_arrays(rows);
    std::vector<std::string> keys;
    for (const auto& row : rows) {
        if (!row.is_object()) continue;
        for (const auto& [key, value] : row.items())
            if (!value.is_structured() && std::find(keys.begin(), keys.end(), key) == keys.end())
                keys.push_back(key);
    }
    Table table;
    for (const auto& key : keys) table.titles.push_back(title_of(key));
    if (keys.empty()) table.titles = {"Result"};
    for (const auto& row : rows) {
        if (keys.empty() && row.is_structured()) continue;
        auto& cells = table.rows.emplace_back();
        if (keys.empty()) cells.push_back(cell(row));
        for (const auto& key : keys)
            cells.push_back(row.is_object() ? cell(row.value(key, ordered_json())) : "");
    }
    return table;
}

}  // namespace batchai::cli

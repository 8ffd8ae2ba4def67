// SPDX-License-Identifier: Apache-2.0
#include "cli/output/result_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "sys/text.hpp"

namespace batchai::cli {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

std::string tsv_cell(const ordered_json& value) {
    if (value.is_array()) return std::to_string(value.size());
    if (value.is_object()) return {};
    if (value.is_null()) return "None";
    if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
    return value.is_string() ? sys::printable(value.get<std::string>()) : json_text(value);
}

std::string tsv_row(const ordered_json& row) {
    if (row.is_boolean()) return row.get<bool>() ? "true" : "false";
    if (!row.is_structured()) return tsv_cell(row);
    std::string text;
    for (auto value = row.begin(); value != row.end(); ++value)
        text += (value == row.begin() ? "" : "\t") + tsv_cell(*value);
    return text;
}

// Whether YAML reads the word as a string in every context.
bool is_plain(const std::string& text) {
    constexpr std::array<std::string_view, 9> kOther{"true", "false", "yes", "no", "on",
                                                     "off",  "null",  "y",   "n"};
    std::string lower = text;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0 &&
           std::all_of(text.begin(), text.end(),
                       [](unsigned char c) {
                           return std::isalnum(c) != 0 ||
                                  std::string_view("-_./").find(static_cast<char>(c)) !=
                                      std::string_view::npos;
                       }) &&
           std::find(kOther.begin(), kOther.end(), lower) == kOther.end();
}

std::string yaml_scalar(const json& value) {
    if (value.is_string() && is_plain(value.get<std::string>())) return value.get<std::string>();
    return json_text(value);  // also an empty array or object
}

void add_yaml(std::string& text, const json& value, const std::string& indent);

// Adds the value after "key:" or "-". first: the value's first line may be on the same line.
void add_value(std::string& text, const json& value, const std::string& indent, bool first) {
    if (!value.is_structured() || value.empty()) {
        text += ' ' + yaml_scalar(value) + '\n';
    } else if (first) {
        std::string block;
        add_yaml(block, value, indent);
        text += ' ' + block.substr(indent.size());
    } else {
        text += '\n';
        add_yaml(text, value, indent);
    }
}

void add_yaml(std::string& text, const json& value, const std::string& indent) {
    if (value.is_array()) {
        for (const auto& item : value) {
            text += indent + '-';
            add_value(text, item, indent + "  ", true);
        }
        return;
    }
    for (const auto& [key, item] : value.items()) {
        text += indent + yaml_scalar(key) + ':';
        // As in az: a list is not indented below its key.
        add_value(text, item, item.is_array() ? indent : indent + "  ", false);
    }
}

}  // namespace

std::string tsv_text(const ordered_json& result) {
    if (!result.is_array()) return tsv_row(result) + '\n';
    std::string text;
    for (const auto& row : result) text += tsv_row(row) + '\n';
    return text;
}

std::string yaml_text(const json& result) {
    if (!result.is_structured() || result.empty()) return yaml_scalar(result) + '\n';
    std::string text;
    add_yaml(text, result, "");
    return text;
}

}  // namespace batchai::cli

// SPDX-License-Identifier: Apache-2.0
#include "job/policy_table.hpp"

#include <algorithm>

#include "job/document.hpp"
#include "job/file_system.hpp"
#include "job/names.hpp"
#include "job/reader.hpp"
#include "sys/text.hpp"

namespace batchai::job {

void Table::error(const std::string& key, const std::string& message) {
    const toml::node* node = table_.get(key);
    const toml::source_position at = node ? node->source().begin : table_.source().begin;
    findings_.push_back({Finding::Severity::error, file_, static_cast<int>(at.line),
                         static_cast<int>(at.column), path_.empty() ? key : path_ + "." + key,
                         message});
}

bool Table::has(const std::string& key) {
    known_.insert(key);
    return table_.get(key) != nullptr;
}

template <class T>
void Table::read_value(const std::string& key, T& target, const char* type) {
    known_.insert(key);
    const toml::node* node = table_.get(key);
    if (node == nullptr) return;
    if (const auto value = node->value_exact<T>())
        target = *value;
    else
        error(key, std::string("expected ") + type);
}

void Table::read(const std::string& key, std::string& target) {
    read_value<std::string>(key, target, "a string");
}

void Table::read(const std::string& key, bool& target) {
    read_value<bool>(key, target, "true or false");
}

void Table::read(const std::string& key, int& target, int least, int most) {
    std::int64_t value = target;
    read_value<std::int64_t>(key, value, "an integer");
    if (value < least || value > most)
        error(key, "must be from " + std::to_string(least) + " to " + std::to_string(most));
    else
        target = static_cast<int>(value);
}

void Table::read(const std::string& key, std::vector<std::string>& target) {
    if (!has(key)) return;
    target.clear();
    const toml::array* array = table_.get_as<toml::array>(key);
    for (std::size_t i = 0; array != nullptr && i < array->size(); ++i)
        if (const auto value = (*array)[i].value_exact<std::string>()) target.push_back(*value);
    if (array == nullptr || target.size() != array->size())
        error(key, "expected an array of strings");
}

void Table::read_text(const std::string& key, std::string& target) {
    if (!has(key)) return;
    const toml::node& node = *table_.get(key);
    if (const auto whole = node.value_exact<std::int64_t>())
        target = std::to_string(*whole);
    else if (const auto number = node.value_exact<double>())
        target = Json(*number).dump();
    else if (const auto text = node.value_exact<std::string>())
        target = *text;
    else
        error(key, "expected a number or a string");
}

void Table::read_mode(const std::string& key, unsigned& target) {
    std::string text;
    read(key, text);
    if (text.empty()) return;
    if (const auto mode = parse_mode(text))
        target = *mode;
    else
        error(key, "'" + text + "' is not a mode such as \"0755\"");
}

void Table::read_name(const std::string& key, std::string& target) {
    read(key, target);
    const toml::node* node = table_.get(key);
    if (node != nullptr && node->is_string() && target.empty()) error(key, "is empty");
}

void Table::require(const std::string& key, std::string& target) {
    read_name(key, target);
    if (table_.get(key) == nullptr) error(key, "required, but missing");
}

void Table::read_path(const std::string& key, std::string& target) {
    read_name(key, target);
    target = without_trailing_slashes(target);
    if (!target.empty() && !is_absolute_path(target))
        error(key, "'" + target + "' is not an absolute path without '..'");
}

void Table::require_path(const std::string& key, std::string& target) {
    read_path(key, target);
    if (table_.get(key) == nullptr) error(key, "required, but missing");
}

std::vector<Table> Table::table(const std::string& key) {
    known_.insert(key);
    const toml::node* node = table_.get(key);
    if (node == nullptr) return {};
    const std::string path = path_.empty() ? key : path_ + "." + key;
    if (node->is_table()) return {Table(*node->as_table(), path, file_, findings_)};
    error(key, "expected a table: [" + path + "]");
    return {};
}

std::vector<Table> Table::tables(const std::string& key) {
    std::vector<Table> result;
    known_.insert(key);
    const toml::node* node = table_.get(key);
    if (node == nullptr) return result;
    const toml::array* array = node->as_array();
    for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) {
        const toml::table* element = (*array)[i].as_table();
        if (element == nullptr) break;
        result.emplace_back(*element, key + "[" + std::to_string(i) + "]", file_, findings_);
    }
    if (array == nullptr || result.size() != array->size())
        error(key, "expected an array of tables: [[" + key + "]]");
    return result;
}

std::vector<std::string> Table::keys() const {
    std::vector<std::string> names;
    for (const auto& [key, node] : table_) names.emplace_back(key.str());
    return names;
}

void Table::finish() {
    for (const std::string& key : keys()) {
        if (known_.count(key) != 0) continue;
        const std::string near = sys::closest(key, known_);
        error(key, near.empty() ? "unknown key" : "unknown key; did you mean '" + near + "'?");
    }
}

}  // namespace batchai::job

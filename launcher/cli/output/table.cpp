// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/output/table.hpp"

#include <algorithm>
#include <utility>

#include "sys/text.hpp"

namespace batchai::cli {
namespace {

constexpr std::size_t kTitlePadding = 2;
constexpr const char* kGap = "  ";

bool is_integer(const std::string& text) {
    const std::size_t start = text.starts_with('-') ? 1 : 0;
    return text.size() > start &&
           std::all_of(text.begin() + static_cast<std::ptrdiff_t>(start), text.end(),
                       [](unsigned char c) { return c >= '0' && c <= '9'; });
}

// Terminal columns of UTF-8 text: bytes that do not continue a character.
std::size_t width(const std::string& text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](unsigned char c) { return (c & 0xc0U) != 0x80U; }));
}

struct Column {
    std::size_t width = 0;
    bool numeric = false;
};

Column measure(const Table& table, std::size_t index) {
    Column column{width(table.titles[index]) + kTitlePadding, false};
    bool any = false;
    bool all = true;
    for (const auto& row : table.rows) {
        const std::string& cell = row[index];
        column.width = std::max(column.width, width(cell));
        if (cell.empty()) continue;
        any = true;
        all = all && is_integer(cell);
    }
    column.numeric = any && all;
    return column;
}

void append_line(std::string& text, const std::vector<std::string>& cells,
                 const std::vector<Column>& columns) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        if (i > 0) line += kGap;
        const std::string padding(columns[i].width - width(cells[i]), ' ');
        line += columns[i].numeric ? padding + cells[i] : cells[i] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
}

// A file's name may hold anything; a row is one line.
void make_printable(std::vector<std::string>& cells) {
    for (auto& cell : cells) cell = sys::printable(cell);
}

}  // namespace

std::string Table::text() const {
    if (rows.empty()) return {};
    Table shown = *this;
    make_printable(shown.titles);
    for (auto& row : shown.rows) make_printable(row);
    std::vector<Column> columns;
    std::vector<std::string> rule;
    for (std::size_t i = 0; i < titles.size(); ++i) {
        columns.push_back(measure(shown, i));
        rule.emplace_back(columns.back().width, '-');
    }
    std::string text;
    append_line(text, shown.titles, columns);
    append_line(text, rule, columns);
    for (const auto& row : shown.rows) append_line(text, row, columns);
    return text;
}

}  // namespace batchai::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/output/table.hpp"

#include <sys/ioctl.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "sys/text.hpp"

namespace batchai::cli {
namespace {

constexpr std::size_t kShortestColumn = 4;
constexpr const char* kGap = "  ";

bool is_integer(const std::string& text) {
    const std::size_t start = text.starts_with('-') ? 1 : 0;
    return text.size() > start &&
           std::all_of(text.begin() + static_cast<std::ptrdiff_t>(start), text.end(),
                       [](unsigned char c) { return c >= '0' && c <= '9'; });
}

// Terminal columns of UTF-8 text: it counts the bytes that start a character.
std::size_t width(const std::string& text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](unsigned char c) { return (c & 0xc0U) != 0x80U; }));
}

struct Column {
    std::size_t width = 0;
    bool numeric = false;
};

Column measure(const Table& table, std::size_t index, std::size_t padding) {
    Column column{width(table.titles[index]) + padding, false};
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

using Columns = std::vector<Column>;

Columns measure_all(const Table& table, std::size_t padding) {
    Columns columns;
    for (std::size_t i = 0; i < table.titles.size(); ++i)
        columns.push_back(measure(table, i, padding));
    return columns;
}

std::size_t width_of(const Columns& columns) {
    std::size_t sum = 0;
    for (const Column& column : columns) sum += column.width + std::strlen(kGap);
    return sum - std::strlen(kGap);
}

void remove_column(Table& table, const std::string& title) {
    const auto found = std::find(table.titles.begin(), table.titles.end(), title);
    if (found == table.titles.end()) return;
    const auto index = found - table.titles.begin();
    table.titles.erase(found);
    for (auto& row : table.rows) row.erase(row.begin() + index);
}

// Shortens the widest columns until the line fits. Numbers are not cut.
void narrow(Columns& columns, std::size_t widest) {
    while (width_of(columns) > widest) {
        Column* longest = nullptr;
        for (Column& column : columns)
            if (!column.numeric && (longest == nullptr || column.width > longest->width))
                longest = &column;
        if (longest == nullptr || longest->width <= kShortestColumn) return;
        --longest->width;
    }
}

void append_line(std::string& text, const std::vector<std::string>& cells,
                 const std::vector<Column>& columns) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        if (i > 0) line += kGap;
        const std::string cell = cut(cells[i], columns[i].width);
        const std::string padding(columns[i].width - width(cell), ' ');
        line += columns[i].numeric ? padding + cell : cell + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
}

// A file's name may contain any bytes, and a row must stay one line.
void make_printable(std::vector<std::string>& cells) {
    for (auto& cell : cells) cell = sys::printable(cell);
}

}  // namespace

std::string cut(const std::string& text, std::size_t most) {
    if (width(text) <= most) return text;
    std::string shown;
    std::size_t taken = 0;
    for (const char c : text) {
        const bool starts = (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
        if (starts && ++taken == most) break;
        shown += c;
    }
    return shown + '~';
}

std::string Table::text(std::size_t widest) const {
    if (rows.empty()) return {};
    Table shown = *this;
    make_printable(shown.titles);
    for (auto& row : shown.rows) make_printable(row);
    Columns columns = measure_all(shown, title_padding);
    if (widest > 0 && width_of(columns) > widest) {
        columns = measure_all(shown, 0);
        for (auto title = spare.begin(); title != spare.end() && width_of(columns) > widest;
             ++title) {
            remove_column(shown, *title);
            columns = measure_all(shown, 0);
        }
        narrow(columns, widest);
    }
    std::vector<std::string> rule;
    for (const Column& column : columns) rule.emplace_back(column.width, '-');
    std::string text;
    append_line(text, shown.titles, columns);
    append_line(text, rule, columns);
    for (const auto& row : shown.rows) append_line(text, row, columns);
    return text;
}

std::size_t terminal_width(int fd) {
    struct winsize size {};
    if (::ioctl(fd, TIOCGWINSZ, &size) != 0) return 0;
    return size.ws_col;
}

}  // namespace batchai::cli

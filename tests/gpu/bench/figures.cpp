// SPDX-License-Identifier: Apache-2.0
#include "figures.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <stdexcept>

namespace batchai::coll::gpu {
namespace {

std::string size_of(std::size_t bytes) {
    return bytes == 0 ? "" : fmt::format("{} MiB", bytes >> 20);
}

std::string number(double value) {
    return fmt::format("{:.{}f}", value, value < 10 ? 3 : value < 100 ? 2 : 1);
}

}  // namespace

Figures::Figures(std::vector<Row> rows) : rows_(std::move(rows)) {
    void* memory = ::mmap(nullptr, rows_.size() * sizeof(Figure), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("mapping the figures");
    figures_ = static_cast<Figure*>(memory);
}

Figures::~Figures() {
    ::munmap(figures_, rows_.size() * sizeof(Figure));
}

Figures::Figure& Figures::figure(const std::string& what, std::size_t bytes) const {
    const auto row = std::find_if(rows_.begin(), rows_.end(), [&](const Row& each) {
        return each.what == what && each.bytes == bytes;
    });
    if (row == rows_.end()) throw std::runtime_error("no row: " + what);
    return figures_[row - rows_.begin()];
}

void Figures::set(const std::string& what, std::size_t bytes, double value, double bound) {
    figure(what, bytes) = {true, value, bound};
}

double Figures::get(const std::string& what, std::size_t bytes) const {
    const Figure& found = figure(what, bytes);
    if (!found.measured) throw std::runtime_error("not measured: " + what);
    return found.value;
}

bool Figures::complete() const {
    return std::all_of(figures_, figures_ + rows_.size(),
                       [](const Figure& each) { return each.measured; });
}

// The reached part of its bound; 0 if it has no bound.
double Figures::reached(std::size_t row) const {
    const Figure& figure = figures_[row];
    if (!figure.measured || figure.bound == 0 || figure.value == 0) return 0;
    return rows_[row].unit == std::string("ms") ? figure.bound / figure.value
                                                : figure.value / figure.bound;
}

std::string Figures::table() const {
    std::string text = fmt::format("{:<45} {:>7} {:>12} {:>8} {:>7}  {:<7} {}\n", "figure", "size",
                                   "measured", "bound", "reached", "goal", "the bound");
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        const Row& row = rows_[i];
        const Figure& figure = figures_[i];
        const double part = reached(i);
        const std::string value =
            figure.measured ? number(figure.value) + " " + row.unit : "not measured";
        std::string goal = row.goal == 0 ? "" : fmt::format("{:.0f} %", row.goal * 100);
        if (row.goal > 0 && part > 0) goal += part >= row.goal ? " ok" : " NO";
        std::string line =
            fmt::format("{:<45} {:>7} {:>12} {:>8} {:>7}  {:<7} {}", row.what, size_of(row.bytes),
                        value, figure.bound > 0 ? number(figure.bound) : "",
                        part > 0 ? fmt::format("{:.1f} %", part * 100) : "", goal, row.note);
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

std::string Figures::json() const {
    std::string text = "[";
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        const Row& row = rows_[i];
        const Figure& figure = figures_[i];
        text += fmt::format("{}\n  {{\"figure\": \"{}\", \"bytes\": {}, \"unit\": \"{}\"",
                            i == 0 ? "" : ",", row.what, row.bytes, row.unit);
        text += figure.measured ? fmt::format(", \"value\": {:.6g}", figure.value)
                                : ", \"value\": null";
        if (figure.bound > 0) text += fmt::format(", \"bound\": {:.6g}", figure.bound);
        if (reached(i) > 0) text += fmt::format(", \"reached\": {:.4f}", reached(i));
        if (row.goal > 0) text += fmt::format(", \"goal\": {}", row.goal);
        text += "}";
    }
    return text + "\n]\n";
}

}  // namespace batchai::coll::gpu

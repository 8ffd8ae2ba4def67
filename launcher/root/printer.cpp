// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/printer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "launcher/common/terminal.hpp"
#include "sys/text.hpp"

namespace batchai::launcher {
namespace {

// Removes the first line with its end, and returns it.
std::string_view take_line(std::string_view& lines) {
    std::size_t end = lines.find_first_of("\r\n");
    if (end != lines.npos && lines.substr(end, 2) == "\r\n") ++end;
    const std::string_view line = lines.substr(0, end == lines.npos ? end : end + 1);
    lines.remove_prefix(line.size());
    return line;
}

bool has_end(std::string_view line) {
    return line.ends_with('\n') || line.ends_with('\r');
}

}  // namespace

std::string label_lines(std::string_view label, std::string_view lines) {
    std::string text;
    while (!lines.empty()) {
        const std::string_view line = take_line(lines);
        text.append(label).append(line);
    }
    return text;
}

std::string OwnLines::add(int rank, std::string_view label, std::string text) {
    const bool goes_on = unfinished_ == rank;
    std::string begin = goes_on ? std::string() : finish();
    unfinished_ = has_end(text) ? kNone : rank;
    if (label.empty()) return begin.empty() ? std::move(text) : begin + text;
    std::string_view lines = text;
    if (goes_on) begin = take_line(lines);
    return begin + label_lines(label, lines);
}

std::string OwnLines::finish() {
    return std::exchange(unfinished_, kNone) == kNone ? "" : "\n";
}

void EqualLines::add(int rank, std::string_view lines) {
    while (!lines.empty()) {
        const std::string_view line = take_line(lines);
        auto place = places_.find(line);
        if (place == places_.end()) place = places_.emplace(line, std::vector<std::size_t>()).first;
        std::vector<std::size_t>& equals = place->second;
        const auto found = std::lower_bound(equals.begin(), equals.end(), next_[rank]);
        const std::size_t entry = found == equals.end() ? entries_.size() : *found;
        if (found == equals.end()) {
            equals.push_back(entry);
            entries_.push_back({std::string(line), {}});
            size_ += line.size();
        }
        entries_[entry].ranks.push_back(rank);
        next_[rank] = entry + 1;
    }
}

std::string EqualLines::take(bool colours) {
    std::string text;
    for (Entry& entry : entries_) {
        std::sort(entry.ranks.begin(), entry.ranks.end());
        const std::string label = fmt::format("[{}] ", sys::number_list(entry.ranks));
        text += label_lines(colours ? in_colour_of(entry.ranks[0], label) : label, entry.line);
        if (!has_end(entry.line)) text += '\n';
    }
    *this = EqualLines();
    return text;
}

Printer::Printer(Loop& loop, Sink& sink, Labels labels, bool colours, const RankMap& map)
    : sink_(sink), labels_(labels), colours_(colours), map_(map), wait_(loop, [this] {
          write_equal();
      }) {}

// "[ 3 n2] ": all ranks have the width of the largest.
std::string Printer::label(int rank) const {
    const std::size_t width = std::to_string(map_.size() - 1).size();
    const std::string text =
        fmt::format("[{:{}} {}] ", rank, width, sys::printable(map_.nodes[map_.node_of(rank)]));
    return colours_ ? in_colour_of(rank, text) : text;
}

void Printer::write(int rank, std::string text, Done done) {
    if (labels_ != Labels::equal_lines) {
        const bool labelled = labels_ == Labels::each_rank;
        return sink_.write(own_.add(rank, labelled ? label(rank) : "", std::move(text)),
                           std::move(done));
    }
    equal_.add(rank, text);
    waiting_.push_back(std::move(done));
    if (equal_.size() > kHeld) return write_equal();
    if (!wait_.active()) wait_.start(kWait);
}

void Printer::write_own(const std::string& line) {
    sink_.write(own_.finish() + line, [] {});
}

void Printer::flush() {
    write_equal();
    if (labels_ != Labels::each_rank) return;
    if (std::string end = own_.finish(); !end.empty()) sink_.write(std::move(end), [] {});
}

void Printer::write_equal() {
    wait_.stop();
    if (equal_.empty()) return;
    sink_.write(equal_.take(colours_), [waiting = std::move(waiting_)] {
        for (const Done& done : waiting) done();
    });
    waiting_.clear();
}

}  // namespace batchai::launcher

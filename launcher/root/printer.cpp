// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/printer.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "launcher/common/allocation.hpp"
#include "launcher/common/say.hpp"
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

std::string EqualLines::take(const RankMap& map, bool colours) {
    std::string text;
    for (Entry& entry : entries_) {
        std::sort(entry.ranks.begin(), entry.ranks.end());
        const std::string label = fmt::format("[{}] ", map.names(entry.ranks));
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

// "[ 3 n2] ": all ranks of the first job have the width of the largest.
std::string Printer::label(int rank) const {
    const int ranks = map_.further.empty() ? map_.size() : map_.further.front();
    const std::size_t width = std::to_string(ranks - 1).size();
    const std::string text = fmt::format("[{:>{}} {}] ", map_.name(rank), width,
                                         sys::printable(map_.nodes[map_.node_of(rank)]));
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
    sink_.write(equal_.take(map_, colours_), [waiting = std::move(waiting_)] {
        for (const Done& done : waiting) done();
    });
    waiting_.clear();
}

JobOutput::Half::Half(Loop& loop, const Sink::Target& target, Labels labels, const RankMap& map,
                      JobOutput& owner)
    : sink(loop, target, [&owner](const Sink::Failure& failure) { owner.on_failure(failure); }),
      printer(loop, sink, labels, has_colours(target.fd), map) {
    sink.set_on_idle([&owner] { owner.events_.on_written(); });
}

JobOutput::JobOutput(Loop& loop, const Targets& targets, Labels labels, const RankMap& map,
                     Outcome& outcome, RootEvents& events)
    : outcome_(outcome), events_(events) {
    out_ = err_ = std::make_shared<Half>(loop, targets.output, labels, map, *this);
    if (!is_same_file(targets.output.fd, targets.error.fd))
        err_ = std::make_shared<Half>(loop, targets.error, labels, map, *this);
}

void JobOutput::write(Output output, Printer::Done done) {
    Printer& printer = (output.stream == Stream::out ? out_ : err_)->printer;
    printer.write(output.rank, std::move(output.bytes), std::move(done));
}

void JobOutput::tell(const std::string& line) {
    if (!try_to_say(line)) err_->printer.write_own(said(line));
}

void JobOutput::report(const std::string& text) {
    const std::size_t done = write_to_user(text);
    if (done < text.size() && err_->sink.idle())
        (void)!::write(err_->sink.target().fd, text.data() + done, text.size() - done);
}

// If the reader of the output has ended, the ranks are ended too, as SIGPIPE would do. Other
// failures to write do not end them.
void JobOutput::on_failure(const Sink::Failure& failure) {
    if (failure.rest == Sink::Rest::unread)
        return events_.on_failure(describe(failure, host_name()));
    misplace(misplaced_by(failure, host_name()));
}

void JobOutput::misplace(const Misplaced& misplaced) {
    if (misplaced.returned || outcome_.misplaced().size() < kMostMisplaced) tell(misplaced.line);
    outcome_.add(misplaced);
}

void JobOutput::finish() {
    for (Half* half : {out_.get(), err_.get()}) half->printer.flush();
    for (Half* half : {out_.get(), err_.get()}) half->sink.finish();
}

std::uint64_t JobOutput::bytes_written() const {
    return out_->sink.bytes_written() + err_->sink.bytes_written();
}

const std::string& JobOutput::stalled() const {
    return (out_->sink.idle() ? err_ : out_)->sink.target().name;
}

}  // namespace batchai::launcher

// SPDX-License-Identifier: Apache-2.0
//
// JobOutput: what the user sees of the ranks' output, on two streams or in the job's two files.
//
// Printer: forms one output stream of the ranks for the user. It prints lines unchanged, or with a
// label that names the rank, or merges equal lines of several ranks. A rank may leave a line
// unfinished: if another rank writes before the line continues, the printer ends that line. Without
// labels it adds nothing else; with labels it ends the last line too.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/common/map.hpp"
#include "launcher/common/settings.hpp"
#include "launcher/common/sink.hpp"
#include "launcher/root/events.hpp"
#include "launcher/root/outcome.hpp"

namespace batchai::launcher {

// Puts the label before each line. A lone '\r' ends a line too, as in progress bars.
std::string label_lines(std::string_view label, std::string_view lines);

// Lets ranks write to one stream without mixing their lines.
class OwnLines {
  public:
    // Returns the bytes to write for the rank's text. It first ends another rank's unfinished line.
    // label: before each line; may be empty.
    std::string add(int rank, std::string_view label, std::string text);
    // Ends an unfinished line with "\n"; empty if there is none.
    std::string finish();

  private:
    static constexpr int kNone = -1;
    int unfinished_ = kNone;  // the rank with the unfinished line
};

// Merges equal lines of several ranks. The lines of each rank keep their order.
class EqualLines {
  public:
    void add(int rank, std::string_view lines);
    // Returns "[0-3,7] line" for each line, and becomes empty. map: names the ranks.
    std::string take(const RankMap& map, bool colours = false);
    bool empty() const { return entries_.empty(); }
    std::size_t size() const { return size_; }  // in bytes

  private:
    struct Entry {
        std::string line;
        std::vector<int> ranks;
    };
    std::vector<Entry> entries_;
    std::map<std::string, std::vector<std::size_t>, std::less<>> places_;  // entries of a line
    std::map<int, std::size_t> next_;  // by rank: the entry after its last one
    std::size_t size_ = 0;
};

class Printer {
  public:
    using Done = std::function<void()>;

    // map: the job's, which is set before the first rank writes. colours: each rank's labels have a
    // colour.
    Printer(Loop& loop, Sink& sink, Labels labels, bool colours, const RankMap& map);

    // Writes text of a rank: whole lines, perhaps with a part of one at the end. done is called
    // when it is written.
    void write(int rank, std::string text, Done done);
    // Writes a line of the launcher itself.
    void write_own(const std::string& line);
    // Call it when no rank writes any more. It prints the lines that still wait for equal ones.
    void flush();

  private:
    // How long a line waits for equal lines of other ranks, and how many bytes may wait.
    static constexpr std::chrono::milliseconds kWait{100};
    static constexpr std::size_t kHeld = 1 << 20;

    std::string label(int rank) const;
    void write_equal();

    Sink& sink_;
    Labels labels_;
    bool colours_;
    const RankMap& map_;
    Timer wait_;
    OwnLines own_;
    EqualLines equal_;
    std::vector<Done> waiting_;
};

class JobOutput {
  public:
    struct Targets {
        Sink::Target output = standard_stream(1), error = standard_stream(2);
    };
    // outcome: gets the failures to write.
    JobOutput(Loop& loop, const Targets& targets, Labels labels, const RankMap& map,
              Outcome& outcome, RootEvents& events);

    // done: called when it is written.
    void write(Output output, Printer::Done done);
    // Writes a line of the launcher. If standard error is the file that cannot be written, the line
    // goes to the file in which the ranks' standard error continues.
    void tell(const std::string& line);
    // The same for the text of the report, after the loop has ended.
    void report(const std::string& text);
    // Output that is not in its file: tells the user, and adds it to the outcome.
    void misplace(const Misplaced& misplaced);
    // Call it when no rank writes any more.
    void finish();

    // Everything so far is written. If not, a thread may use this object.
    bool written() const { return out_->sink.idle() && err_->sink.idle(); }
    std::uint64_t bytes_written() const;
    // A target that accepts nothing, if not everything is written.
    const std::string& stalled() const;

  private:
    struct Half {
        Half(Loop& loop, const Sink::Target& target, Labels labels, const RankMap& map,
             JobOutput& owner);
        Sink sink;
        Printer printer;
    };
    void on_failure(const Sink::Failure& failure);

    Outcome& outcome_;
    RootEvents& events_;
    std::shared_ptr<Half> out_, err_;  // the same one, if both lead to the same file
};

}  // namespace batchai::launcher

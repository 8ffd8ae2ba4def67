// SPDX-License-Identifier: Apache-2.0
//
// LineBuffer: cuts a rank's output into whole lines, so that the lines of different ranks never
// mix. It does not change the bytes. A line ends at '\n', or at a lone '\r' (progress bars).
// LineBuffer keeps text without a line end, however long, until its owner takes the rest.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace batchai::launcher {

class LineBuffer {
  public:
    // Adds bytes; returns the lines that are complete now.
    std::string add(std::string_view bytes);
    // Takes the incomplete line.
    std::string rest() { return std::exchange(pending_, {}); }
    std::size_t size() const { return pending_.size(); }

  private:
    std::string pending_;
};

// The last lines of a stream, for the report of a failure. They include Python's last
// traceback, even if it is longer or came earlier.
class Tail {
  public:
    explicit Tail(std::size_t lines) : limit_(lines) {}

    void add(std::string_view bytes);
    std::vector<std::string> lines() const;

  private:
    static constexpr std::size_t kLongest = 500;    // bytes kept of a line
    static constexpr std::size_t kTraceback = 100;  // lines kept of a traceback

    void push(std::string_view line);
    void follow_traceback(std::string_view line);

    std::size_t limit_;
    std::deque<std::string> lines_;
    std::string partial_;
    std::vector<std::string> traceback_;
    bool in_traceback_ = false;
    std::size_t after_traceback_ = 0;  // lines since the traceback
};

// The last line of a text that is not empty, at most 256 bytes of it; empty: there is none.
std::string last_line_of(std::string_view text);

// The first few error lines of NCCL, UCX and CUDA in a rank's output.
class LibraryErrors {
  public:
    // lines: complete lines, or an incomplete line that a rank has not ended for a while.
    void add(std::string_view lines);
    const std::vector<std::string>& lines() const { return lines_; }

  private:
    static constexpr std::size_t kLines = 5, kLongest = 500;

    std::vector<std::string> lines_;
};

}  // namespace batchai::launcher

// SPDX-License-Identifier: Apache-2.0
//
// LineBuffer: cuts what a rank writes into whole lines, so that the lines of different ranks never
// mix. The bytes themselves are left as they are. A line ends at '\n', or at a lone '\r' (progress
// bars); one that grows beyond a megabyte is let through in pieces.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace batchai::launcher {

class LineBuffer {
  public:
    static constexpr std::size_t kLongest = 1 << 20;

    // Adds bytes; returns all that may be passed on now.
    std::string add(std::string_view bytes);
    // What is left at the end of the stream.
    std::string rest() { return std::move(pending_); }

  private:
    std::string pending_;
};

// The last lines of a stream, for the report of a failure.
class Tail {
  public:
    explicit Tail(std::size_t lines) : limit_(lines) {}

    void add(std::string_view bytes);
    std::vector<std::string> lines() const;

  private:
    static constexpr std::size_t kLongest = 500;  // bytes kept of a line

    void push(std::string_view line);

    std::size_t limit_;
    std::deque<std::string> lines_;
    std::string partial_;
};

}  // namespace batchai::launcher

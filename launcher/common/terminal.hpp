// SPDX-License-Identifier: Apache-2.0
//
// Output for a terminal only: colours, and a temporary status line. NO_COLOR (no-color.org) turns
// colours off; TERM=dumb turns both off.
#pragma once

#include <string>
#include <string_view>

namespace batchai::launcher {

bool is_terminal(int fd);
bool has_colours(int fd);
// The path of a regular file; empty: it is none.
std::string file_of(int fd);
// Whether both lead to the same file, pipe or terminal.
bool is_same_file(int one, int other);

// A colour for the lines of a rank, and the one of failures, around text on one line.
std::string in_colour_of(int rank, std::string_view text);
std::string in_red(std::string_view text);

// One line on standard error; nothing where that is no terminal. To be cleared before anything
// else is written there.
class StatusLine {
  public:
    StatusLine() : able_(is_terminal(2)) {}
    ~StatusLine() { clear(); }
    StatusLine(const StatusLine&) = delete;
    StatusLine& operator=(const StatusLine&) = delete;

    void show(const std::string& text);
    void clear();

  private:
    bool able_;
    std::string shown_;
};

}  // namespace batchai::launcher

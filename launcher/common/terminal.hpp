// SPDX-License-Identifier: Apache-2.0
//
// Output for terminals only: colours, and a status line that is overwritten. NO_COLOR
// (no-color.org) turns colours off. TERM=dumb turns both off.
#pragma once

#include <string>
#include <string_view>

namespace batchai::launcher {

bool is_terminal(int fd);
bool has_colours(int fd);
// The path of a regular file; empty: the descriptor is not one.
std::string file_of(int fd);
// Whether both descriptors are open on the same file, pipe or terminal.
bool is_same_file(int one, int other);

// Colours one line of text: by rank, or in red for failures.
std::string in_colour_of(int rank, std::string_view text);
std::string in_red(std::string_view text);

// One line on standard error, only if that is a terminal. Clear it before writing anything else
// there.
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

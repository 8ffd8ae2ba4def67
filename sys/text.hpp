// SPDX-License-Identifier: Apache-2.0
//
// Words and numbers as text, and what makes text from other users safe for a terminal or a log.
// Such text is names of jobs, files and nodes, words of a job file, and errors that quote them.
// Programs call printable() when they print. The output of a job's own programs is passed on
// unchanged.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace batchai::sys {

// One line without characters that control a terminal or change the direction of text. Control
// characters (C0, delete, C1), U+061C, U+200E, U+200F, U+2028 to U+202E and U+2066 to U+2069 become
// JSON's escapes, \n and \u001b. Bytes that are not UTF-8 become \x9b. A line end is a control
// character too. Other characters stay, so printable(printable(x)) is printable(x).
std::string printable(std::string_view line);

// Like printable(), and keeps the text's line ends. Applied to a JSON text, the result is the same
// document.
std::string printable_lines(std::string_view text);

// The first line that is not blank.
std::string first_line(const std::string& text);

// "1 node", "3 nodes".
std::string plural(long long count, const std::string& noun);

// The candidate within so many edits (Levenshtein) of word, else empty.
std::string closest(const std::string& word, const std::set<std::string>& candidates,
                    std::size_t edits = 2);

// "0-3,8,10-11", from numbers in ascending order.
std::string number_list(const std::vector<int>& numbers);

// Slurm's notation for a number on each node. "2(x3),1" -> 2 2 2 1; empty if it has another form,
// or for more than a million nodes.
std::vector<int> expand_counts(const std::string& list);
// The inverse, for numbers that are not negative.
std::string counts_of(const std::vector<int>& counts);

}  // namespace batchai::sys

// SPDX-License-Identifier: Apache-2.0
//
// Text that others have chosen (names of jobs, files and nodes, words of a job file, errors that
// quote them), as a terminal or a log may have it. Programs call this where they print; what a
// job's own program prints is passed on as it is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace batchai::sys {

// One line without a character that commands a terminal or changes the order of what it shows:
// control characters (C0, delete, C1), U+061C, U+200E, U+200F, U+2028 to U+202E and U+2066 to
// U+2069 become JSON's escapes, \n and \u001b, and bytes that are not UTF-8 become \x9b. A line end
// is a control character too. All else stays, so that printable(printable(x)) is printable(x).
std::string printable(std::string_view line);

// The same, with the text's line ends left in place. Of a JSON text it is the same document.
std::string printable_lines(std::string_view text);

// "0-3,8,10-11", from numbers in ascending order.
std::string number_list(const std::vector<int>& numbers);

}  // namespace batchai::sys

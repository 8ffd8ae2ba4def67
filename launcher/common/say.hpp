// SPDX-License-Identifier: Apache-2.0
//
// What the launcher says to its user, on standard error. A message that cannot be written (a full
// disk, a closed pipe) is no reason to end a job: the caller may say it elsewhere. Names in it
// cannot command a terminal.
#pragma once

#include <cstdio>
#include <string>

#include "sys/text.hpp"

namespace batchai::launcher {

// As it is to be printed.
inline std::string said(const std::string& line) {
    return "batchai-launch: " + sys::printable_lines(line) + "\n";
}

// False: it could not be written.
inline bool try_to_say(const std::string& line) {
    return std::fputs(said(line).c_str(), stderr) >= 0;
}

inline void say(const std::string& line) {
    (void)try_to_say(line);
}

}  // namespace batchai::launcher

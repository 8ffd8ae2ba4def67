// SPDX-License-Identifier: Apache-2.0
//
// What the launcher says to its user, on standard error. A message that cannot be written (a full
// disk, a closed pipe) is no reason to end a job. Names in it cannot command a terminal.
#pragma once

#include <cstdio>
#include <string>

#include "sys/text.hpp"

namespace batchai::launcher {

inline void say(const std::string& line) {
    std::fputs(("batchai-launch: " + sys::printable_lines(line) + "\n").c_str(), stderr);
}

}  // namespace batchai::launcher

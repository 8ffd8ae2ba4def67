// SPDX-License-Identifier: Apache-2.0
//
// What the launcher says to its user, on standard error. A message that cannot be written (a full
// disk, a closed pipe) is no reason to end a job.
#pragma once

#include <cstdio>
#include <string>

namespace batchai::launcher {

inline void say(const std::string& line) {
    std::fputs(("batchai-launch: " + line + "\n").c_str(), stderr);
}

}  // namespace batchai::launcher

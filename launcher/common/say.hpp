// SPDX-License-Identifier: Apache-2.0
//
// What the launcher says to its user, on standard error. A message that cannot be written (a full
// disk, a closed pipe) is no reason to end a job: the caller may say it elsewhere. Nor is one that
// a reader does not take: a job must hear of signals meanwhile. Names in it cannot command a
// terminal.
#pragma once

#include <string>
#include <string_view>

namespace batchai::launcher {

// As it is to be printed.
std::string said(const std::string& line);

// Writes text to standard error; gives up when a reader takes nothing for a second. Returns the
// number of bytes written.
std::size_t write_to_user(std::string_view text);

// False: it could not be written.
bool try_to_say(const std::string& line);

void say(const std::string& line);

}  // namespace batchai::launcher

// SPDX-License-Identifier: Apache-2.0
//
// Writes the launcher's messages to standard error. A message that cannot be written (a full disk,
// a closed pipe) does not end a job; the caller may write it elsewhere. A reader that does not read
// does not block the job, because the launcher has to handle signals meanwhile. Names in a message
// cannot send control sequences to a terminal.
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

// SPDX-License-Identifier: Apache-2.0
//
// Writes the launcher's messages to standard error. If a message cannot be written (full disk,
// closed pipe), the job goes on, and the caller may write the message elsewhere. A slow reader does
// not block the launcher, which must handle signals meanwhile. Names in a message cannot send
// control sequences to a terminal.
#pragma once

#include <string>
#include <string_view>

namespace batchai::launcher {

// A script has started a launch with "&", and has not waited for it.
inline constexpr char kScriptEnded[] = "the script ended while its launch ran";

// The text that is printed for a message.
std::string said(const std::string& line);

// Writes text to standard error, and stops if the reader accepts nothing for a second. Returns the
// number of bytes written.
std::size_t write_to_user(std::string_view text);

// False: the message could not be written.
bool try_to_say(const std::string& line);

void say(const std::string& line);

}  // namespace batchai::launcher

// SPDX-License-Identifier: Apache-2.0
//
// Whole files as strings. Reads are limited, writes replace a file at once or not at all. What is
// no regular file (a FIFO, a device) is refused, and never waited for.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::sys {

// open(2), of a regular file only; O_CLOEXEC, and O_NONBLOCK, which means nothing to such a file.
Result<UniqueFd> open_regular(const std::string& path, int flags, mode_t mode = 0);

// openat(2) for a name that this program has chosen, where others may write too: a symbolic link is
// followed if its owner is the user or root, and is an error if it is another user's. Errors do not
// name the file.
Result<UniqueFd> open_own(int directory, const std::string& name, int flags, mode_t mode = 0);

// open_regular of a path below a directory that other users may write to: every directory below
// base is opened as open_own opens it, so that no other user's link leads elsewhere, and the file
// itself may be no link. An empty base is the root directory.
Result<UniqueFd> open_regular_below(const std::string& base, const std::string& path, int flags,
                                    mode_t mode = 0);

// The file's bytes; an error when it holds more than limit bytes.
Result<std::string> read_file(const std::string& path, std::size_t limit);

// Whether path is, or leads to, a regular file.
bool is_regular_file(const std::string& path);

// Whether there is nothing at path. False where the user may not look.
bool is_missing(const std::string& path);

// Writes a file beside path, waits until it is on the disk, and renames it over path. What others
// read is the old or the new one.
Result<void> write_file(const std::string& path, std::string_view text, mode_t mode);

// Appends text, with one write unless the disk is full; creates the file with mode, less the umask.
Result<void> append_file(const std::string& path, std::string_view text, mode_t mode);

// Writes all of text, and closes the file. Errors do not name it.
Result<void> write_and_close(UniqueFd, std::string_view text);

}  // namespace batchai::sys

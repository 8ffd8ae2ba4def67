// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes whole files as strings. Reads have a limit. Writes replace a file at once or not
// at all. A file that is not regular (a FIFO, a device) is refused without waiting.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::sys {

// open(2), for a regular file only. Adds O_CLOEXEC, and O_NONBLOCK and O_NOCTTY, which have no
// effect on such a file.
Result<UniqueFd> open_regular(const std::string& path, int flags, mode_t mode = 0);

// openat(2) for a name that this program has chosen, in a directory that others may write to. It
// follows a symbolic link of the user or of root. A link of another user is an error. Errors do not
// name the file.
Result<UniqueFd> open_own(int directory, const std::string& name, int flags, mode_t mode = 0);

// open_regular for a path below a directory that other users may write to. It opens every directory
// below base like open_own, so that no other user's link is followed. The file itself must not be a
// link. An empty base is the root directory.
Result<UniqueFd> open_regular_below(const std::string& base, const std::string& path, int flags,
                                    mode_t mode = 0);

// All data from an open file. More than limit bytes are an error. Errors do not name the file.
Result<std::string> read_all(int fd, std::size_t limit);

// The file's bytes. More than limit bytes are an error.
Result<std::string> read_file(const std::string& path, std::size_t limit);

// The last whole lines of an open file, at most so many bytes; of a longer line, its end. Empty:
// the file is empty or cannot be read. It moves the file's offset.
std::string tail_of(int fd, std::size_t bytes);

// True if path is, or leads to, a regular file.
bool is_regular_file(const std::string& path);

// True if nothing exists at path. False if the user may not look.
bool is_missing(const std::string& path);

// Writes a file beside path, waits until it is on the disk, and renames it to path. Readers see the
// old file or the new one.
Result<void> write_file(const std::string& path, std::string_view text, mode_t mode);

// Appends text, with one write unless the disk is full; creates the file with mode, less the umask.
Result<void> append_file(const std::string& path, std::string_view text, mode_t mode);

// Writes all of text. Errors do not name the file.
Result<void> write_all(int fd, std::string_view text);

// Writes all of text, and closes the file. Errors do not name it.
Result<void> write_and_close(UniqueFd, std::string_view text);

}  // namespace batchai::sys

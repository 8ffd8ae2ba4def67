// SPDX-License-Identifier: Apache-2.0
//
// Opens files and directories that a user names, for the user's own programs: what they write, copy
// from or copy to. Other users may be able to write to directories on the way, such as /tmp or a
// project's folder. The rules are the same everywhere:
//
// - A symbolic link is followed if the user or root has made it. Another user's link is an error,
//   wherever it is, because that user decides what it leads to: a file of the user's home.
// - A file must be a regular file. A FIFO or a device is an error, at once.
// - A file that exists and is to be written must belong to the user, to root or to the owner of its
//   directory. Another user's file is an error, because that user would read what is written. The
//   file is emptied (O_TRUNC) only after these checks.
// - A directory may belong to another user. The owner can read, exchange and remove what is written
//   there (by a default ACL, too). Programs that run or load what they find must check its owner
//   themselves. A directory for the user alone, such as that of the records, has the rule for
//   files.
//
// The owner is the one that the kernel shows. Where a file server shows another one (root squash,
// unmapped numbers, a fixed owner), files can be written, because a directory has the same owner;
// the user's own links are not followed, because they look like those of another user.
//
// Everything runs with the rights of the calling process and is thread-safe.
// horovod/common/files.py has the same rules in Python.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <string>

#include "sys/path_walk.hpp"
#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::sys {

// The rule for links. It is for PathWalk::check.
Result<void> check_link(const struct stat& info, const std::string& where);

// The rule for what exists and is written to: a file, or a directory for the user alone. directory:
// the one in which it is. path: for messages.
Result<void> check_owner(const struct stat& info, int directory, const std::string& path);

// The end of a path that the user names, walked with check_link.
Result<Place> find_user_path(const std::string& path);

// What a file may be.
enum class FileKind {
    regular,
    output,  // also a device or a FIFO with a reader, if the user or root has made it: a user may
             // link a rank's output to /dev/null
};

// open(2) by the rules above. Adds O_CLOEXEC, O_NOFOLLOW, O_NONBLOCK and O_NOCTTY. With O_CREAT a
// file is made with mode, less the umask. An error names the path.
Result<UniqueFd> open_user_file(const std::string& path, int flags, mode_t mode = 0666,
                                FileKind kind = FileKind::regular);

// The same for the end of a path.
Result<UniqueFd> open_user_file(const Place&, int flags, mode_t mode = 0666,
                                FileKind kind = FileKind::regular);

// The directory, with O_PATH and flags.
Result<UniqueFd> open_user_directory(const std::string& path, int flags = 0);

// The user's name for messages, or "user 1234".
std::string user_name(uid_t user);

}  // namespace batchai::sys

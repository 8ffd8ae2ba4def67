// SPDX-License-Identifier: Apache-2.0
//
// Opens files and directories that the admin names and root uses. A user that can exchange a
// component of such a path decides what root reads, mounts or runs. So only root may be able to
// change a component, and no component may lie on a file system that a user's process serves
// (mount_table.hpp): such a process says what it likes about owners and modes.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::sys {

struct TrustedOpen {
    int flags = O_PATH;  // flags for the last component; O_NOFOLLOW and O_CLOEXEC are added
    // Makes missing components as directories (0755), and then refuses symbolic links.
    bool makes = false;
    // Checks owners, modes and file servers. Without root's rights there is no need to.
    bool checks = geteuid() == 0;
};

// Opens an absolute path component by component, each relative to the descriptor of the one before.
// Every component must belong to root, and only root may be able to write to it; a sticky bit is
// not enough. A symbolic link in such a directory is root's too. It is followed, at most 40 times,
// and its target must meet the same rules. The error names the first component that does not. Only
// root can change a component, so the path leads to the same file later. Thread-safe.
Result<UniqueFd> open_trusted(const std::string& path, const TrustedOpen& how = {});

}  // namespace batchai::sys

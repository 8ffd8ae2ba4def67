// SPDX-License-Identifier: Apache-2.0
//
// Files and directories that root uses by the admin's word. A user who can exchange a component of
// such a path decides what root reads, mounts or runs, so only root may be able to change any.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::sys {

struct TrustedOpen {
    int flags = O_PATH;  // of the last component; O_NOFOLLOW and O_CLOEXEC are added
    // Makes what is missing, as directories (0755), and then refuses symbolic links.
    bool makes = false;
    // Checks owners and modes. A process that is not root has no root to protect.
    bool checks = geteuid() == 0;
};

// Opens an absolute path component by component, each relative to the descriptor of the one before.
// Every component must belong to root, and only root may be able to write to it; a sticky bit does
// not suffice. A symbolic link that such a directory holds is root's word too: it is followed, at
// most 40 times, and what it leads to must be the same. The error names the first component that is
// not. As only root can change any of it, the path leads to the same file afterwards.
// Thread-safe.
Result<UniqueFd> open_trusted(const std::string& path, const TrustedOpen& how = {});

}  // namespace batchai::sys

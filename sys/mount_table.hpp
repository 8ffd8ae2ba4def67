// SPDX-License-Identifier: Apache-2.0
//
// MountTable: which mount an open file lies on, and whose process serves that mount. The answers
// come from the kernel's own tables (/proc/self/fdinfo, /proc/self/mountinfo), so no file server is
// asked. fstat(2), statx(2), fstatfs(2), listxattr(2) and close(2) of a file may ask its server. A
// server that a user runs may never answer, or answer that the file belongs to root.
//
// It does not look behind a mount that root has made: a network file system has the server that
// root has named, and a block device has the content that root has given it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sys/result.hpp"

namespace batchai::sys {

struct MountEntry {
    int id = 0;         // as in statx's stx_mnt_id, for as long as the mount exists
    std::string point;  // the mount point, from this process's root directory
    bool shared = false;
    std::string type;     // "ext4", "fuse.sshfs"
    std::string options;  // of the file system
};

enum class Server {
    root,    // the kernel, or a process or machine that root has named
    user,    // a process of a user: FUSE that a user has mounted
    layers,  // other directories, which a user may serve: overlay and the like
};

class MountTable {
  public:
    // The mounts of this process's namespace, below its root directory.
    static Result<MountTable> read();
    explicit MountTable(std::string_view mountinfo);

    // The mount of an open file; nullptr: it is not in the table. A path through /proc/PID/root
    // leads into other namespaces, in which users can mount anything at any path.
    const MountEntry* of(int file) const;

    // True if one of the mounts has such a server.
    bool has(Server) const;

    // The mount that has an absolute path, by the names of the mount points.
    const MountEntry* at(std::string_view path) const;

  private:
    std::vector<MountEntry> entries_;  // a later entry may hide an earlier one at the same point
};

// The server of a mount's files. The mount of the root directory has no layers to suspect: it is
// older than the first process of a user.
Server server_of(const MountEntry&);

// "fuse.sshfs of user 2001 at /home/alice/mnt", for messages.
std::string describe(const MountEntry&);

}  // namespace batchai::sys

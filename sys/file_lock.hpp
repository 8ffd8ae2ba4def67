// SPDX-License-Identifier: Apache-2.0
//
// FileLock: a lock that processes of several machines take on a file of a file system that they
// share, such as a home directory on NFS. The kernel releases it however its owner ends.
//
// It is a byte-range lock (F_OFD_SETLK in fcntl(2)) on the file's first byte. An NFS client turns
// flock(2) into one too, but a file must be open for writing then, and no local file system shows
// that. A directory cannot have such a lock. SQLite takes the same kind, on other bytes.
//
// A mount may keep locks on its own machine (NFS: nolock, local_lock=; Lustre: localflock). Then
// processes of other machines do not see them. A mount without locks (Lustre: noflock) is an error.
#pragma once

#include <string>

#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::sys {

class FileLock {
  public:
    FileLock() = default;  // no lock

    // Waits until no other process has the lock, and takes it. Makes the file, with mode 0600.
    static Result<FileLock> take(const std::string& path);

    // Whether a FileLock holds the file's lock. False if there is no such file.
    static Result<bool> is_held(const std::string& path);

  private:
    explicit FileLock(UniqueFd fd) : fd_(std::move(fd)) {}
    UniqueFd fd_;
};

// An error if the file system of a file, open for writing, has no locks. path: for the error.
Result<void> check_locks(int fd, const std::string& path);

}  // namespace batchai::sys

// SPDX-License-Identifier: Apache-2.0
//
// Makes directories and missing directories above them: a user's own, and directories in which jobs
// of several users leave files.
//
// All functions run with the rights of the calling process. They are not thread-safe, because they
// change the process's umask for a short time. They change no existing directory. They follow no
// symbolic link of another user (sys/user_path.hpp). Errors name the first directory that stops
// them.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <string>

#include "sys/result.hpp"

namespace batchai::sys {

// Sets the process's umask, and restores the old one in its destructor. Not for use with threads.
class Umask {
  public:
    explicit Umask(mode_t mask) : before_(::umask(mask)) {}
    ~Umask() { ::umask(before_); }
    Umask(const Umask&) = delete;
    Umask& operator=(const Umask&) = delete;

  private:
    mode_t before_;
};

// Makes a directory and missing directories above it, with mode less the umask. Directories that
// exist, or that another process makes at the same time, are used unchanged. With mode 0700 the
// directory is for the user alone: one that exists must pass check_owner (sys/user_path.hpp).
Result<void> make_directories(const std::string& path, mode_t mode = 0777);

// The same for directories that several users share, although one user is the first to make them.
// Every user with write permission on the directory above gets it on a new one too, whatever the
// umask. The new one has the mode, group and default ACL of the one above. If only its owner may
// write to the one above, the umask decides.
Result<void> make_shared_directories(const std::string& path);

// Checks that this process could make directories in path, which is below base and need not exist
// yet. The error names the directory that refuses, its owner and the remedy. Unknown cases are no
// error: base does not exist, or its file system is mounted read-only here.
Result<void> check_writable(const std::string& base, const std::string& path);

// Call before looking for a file that another machine makes in the directory. An NFS client may
// remember for up to a minute that a file is missing, until a process opens the directory.
void refresh_directory(const std::string& path);

}  // namespace batchai::sys

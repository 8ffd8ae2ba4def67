// SPDX-License-Identifier: Apache-2.0
//
// Makes directories with those above them: a user's own, and those in which several users' jobs
// leave their files.
//
// All of it runs with the rights of the calling process. Not thread-safe: the process's umask is
// another one for a moment. No directory that was there before is changed. Errors name the first
// directory that is in the way.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <string>

#include "sys/result.hpp"

namespace batchai::sys {

// Sets the process's umask, and restores the one before at its end. Not for use among threads.
class Umask {
  public:
    explicit Umask(mode_t mask) : before_(::umask(mask)) {}
    ~Umask() { ::umask(before_); }
    Umask(const Umask&) = delete;
    Umask& operator=(const Umask&) = delete;

  private:
    mode_t before_;
};

// Makes a directory and those above it that are missing, with mode less the umask. Directories that
// are there, or that another process makes at the same time, are used as they are.
Result<void> make_directories(const std::string& path, mode_t mode = 0777);

// The same for directories that belong to no user in particular, although a user is the first to
// make them. Every user with write permission on the directory above a new one gets it on the new
// one too, whatever the umask: the new one has the mode of the one above, and its group and default
// ACL. Where only its owner may write to the one above, the umask decides. A symbolic link of
// another user in a sticky directory that all can write to is an error.
Result<void> make_shared_directories(const std::string& path);

// Whether this process could make directories in path, which lies below base and need not be there
// yet. The error names the directory that refuses, its owner and the remedy. What cannot be known
// is no error: base is not there, or its file system is mounted read-only here.
Result<void> check_writable(const std::string& base, const std::string& path);

}  // namespace batchai::sys

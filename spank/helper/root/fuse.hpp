// SPDX-License-Identifier: Apache-2.0
//
// FUSE mounts. Root opens /dev/fuse and mounts, so that no program with a set-user-ID bit is
// needed. The policy's program serves the mount as the user (daemon.hpp) until the job's end.
// Mounts are always nosuid and nodev. The kernel checks access by owners and modes.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "job/mount.hpp"
#include "spank/helper/credentials.hpp"
#include "spank/helper/root/job_directory.hpp"
#include "sys/result.hpp"

namespace batchai::spank {

// The job whose mounts are made.
struct FuseHost {
    const JobDirectory& directory;
    int host = -1;         // the mount namespace before the job's
    std::string job_temp;  // the user's directory; it holds caches and logs
    int temporary = -1;    // the same, open (O_PATH), on no file server of a user
};

struct FuseMount {
    const job::Mount& mount;
    std::string program;               // its name in the policy
    std::vector<std::string> command;  // with placeholders
    std::string credentials;           // secret; empty: none
    bool of_store = false;             // the credentials are the store's, not the user's
    std::string mount_root;
    Credentials user;
};

// Mounts on target, an open directory, and waits until the program has answered once. Call it in
// the job's namespace. The error is the last output of the program.
sys::Result<void> mount_fuse(const FuseMount&, int target, int seconds, const FuseHost&);

// The values of a command's placeholders.
struct CommandValues {
    std::string source;
    std::string target;
    std::string credentials;  // a path; empty: none
    std::string cache;
    uid_t uid = 0;
    gid_t gid = 0;
};

// Replaces {source}, {target}, {credentials}, {cache}, {uid} and {gid}. An error: a source that the
// program would take for an option, or {credentials} without credentials.
sys::Result<std::vector<std::string>> expand_command(const std::vector<std::string>&,
                                                     const CommandValues&);

// The last two lines of a log that are not empty, joined for a message. The last line alone is
// often only the consequence of the one before.
std::string last_words(std::string_view log);

}  // namespace batchai::spank

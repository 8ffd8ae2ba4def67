// SPDX-License-Identifier: Apache-2.0
//
// FUSE mounts: root opens /dev/fuse and mounts, so that no program with a set-user-ID bit is
// needed; the policy's program serves the mount as the user (daemon.hpp) until the job's end.
// nosuid and nodev always. Who may do what in it, the kernel decides by owners and modes.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "job/mount.hpp"
#include "spank/helper/credentials.hpp"
#include "spank/helper/job_directory.hpp"
#include "sys/result.hpp"

namespace batchai::spank {

// Of the job whose mounts are made.
struct FuseHost {
    const JobDirectory& directory;
    int host = -1;         // the mount namespace of before the job's
    std::string job_temp;  // the user's; caches and logs are kept there
};

struct FuseMount {
    const job::Mount& mount;
    std::string program;               // its name in the policy
    std::vector<std::string> command;  // with placeholders
    std::string credentials;           // secret; empty: none
    bool of_store = false;             // they are the store's, not the user's
    std::string mount_root;
    Credentials user;
};

// Mounts on target, an open directory, and waits until the program has answered once. Called in the
// job's namespace. The error is what the program has said last.
sys::Result<void> mount_fuse(const FuseMount&, int target, int seconds, const FuseHost&);

// What a program's command is made of.
struct CommandValues {
    std::string source;
    std::string target;
    std::string credentials;  // a path; empty: none
    std::string cache;
    uid_t uid = 0;
    gid_t gid = 0;
};

// Puts {source}, {target}, {credentials}, {cache}, {uid} and {gid} in. Refused: a source that the
// program would take for an option, a program that expects credentials where there are none.
sys::Result<std::vector<std::string>> expand_command(const std::vector<std::string>&,
                                                     const CommandValues&);

// The last two lines of a log that are not empty, as one, fit for a message. The last alone is
// often the consequence of the one before.
std::string last_words(std::string_view log);

}  // namespace batchai::spank

// SPDX-License-Identifier: Apache-2.0
//
// FUSE mounts. Root opens /dev/fuse and mounts, so that no program with a set-user-ID bit is
// needed. The policy's program serves the mount as the user (DaemonProgram) until the job's end.
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

// daemon.cpp: a program that serves a job's mount until the job's end. Root starts and ends it, but
// the program has none of root's rights.
//
// It runs as the job's user, with no capability and no way to get one, no new privileges and no
// core dumps. It belongs to no step: it is a child of init, in its own session and PID namespace.
// Its cgroup is below the job's, so the job's limits hold for it (cgroup.hpp). The end of the
// program ends all processes of its PID namespace.
//
// Its groups are the user's, so a command of the user that it runs gets no group that the user
// lacks. Such a command could keep a group in a file with the set-group-ID bit. A program with the
// store's credentials runs no command of the user, and has the user's groups only as supplementary
// groups. The kernel lets a process trace another one, and read its memory and open files, if all
// uids and gids are the same. So that program's own group is one that no other process has
// (own_group). PR_SET_DUMPABLE=0 cannot replace it, because a child of the program, such as ssh,
// opens /proc/1/fd/101.
//
// Its mount namespace is a copy of the host's, not of the job's, so it sees no mount of the job and
// keeps none alive. It has a small tmpfs that the user's other processes cannot reach, with these
// entries. The target is an empty directory of the user. HOME is another empty directory, so that
// no other process of the user can leave a configuration there that names commands. fusermount and
// fusermount3 are batchai-fusermount, which passes on the open /dev/fuse.
struct DaemonProgram {
    std::vector<std::string> command;
    Credentials user;
    std::string mount_root;  // the small tmpfs lies there
    std::string target;      // a directory below it
    std::string cache;       // TMPDIR and XDG_CACHE_HOME; the user can write to it
    bool of_store = false;   // its credentials are the store's, not the user's
    int host = -1;           // the mount namespace to copy
    int device = -1;         // /dev/fuse of the mount; becomes kFuseDescriptor
    int credentials = -1;    // becomes kCredentialsDescriptor; -1: none
    int log = -1;            // standard output and error, and errors of the start
    std::string fusermount;  // batchai-fusermount's path
};

// Starts the program after the job's notes (daemon_notes.hpp) have its identity. If we are killed
// before that, the program ends by itself.
sys::Result<void> start_daemon(const DaemonProgram&, const JobDirectory&);

}  // namespace batchai::spank

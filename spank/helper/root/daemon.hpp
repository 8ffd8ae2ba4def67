// SPDX-License-Identifier: Apache-2.0
//
// Starts a program that serves a job's mount until the job's end. Root starts and ends it, but the
// program has none of root's rights.
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
#pragma once

#include <string>
#include <vector>

#include "spank/helper/credentials.hpp"
#include "spank/helper/root/job_directory.hpp"
#include "sys/result.hpp"

namespace batchai::spank {

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

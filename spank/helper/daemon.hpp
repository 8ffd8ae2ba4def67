// SPDX-License-Identifier: Apache-2.0
//
// Starts a program that serves a job's mount for as long as the job lives: root's to start and to
// end, but without any of root's rights.
//
// It runs as the job's user with no capability, none to be had, no new privileges and no core
// dumps. It belongs to no step: it is a child of init, in a session, PID namespace (the end of the
// program ends all that it has started, wherever those went) and cgroup (cgroup.hpp) of its own.
//
// The kernel lets a process trace another one, and read its memory and open files, if all uids and
// gids are the same. So the user's groups are supplementary ones here, and the program's own group
// is nogroup; of a program with the store's credentials it is one that no other process has
// (own_group). Other programs do not get such a group. They may run the user's commands, and a
// command could keep the group in a file with the set-group-ID bit. PR_SET_DUMPABLE=0 cannot
// replace it: what the program starts, such as ssh, opens /proc/1/fd/101.
//
// Its mount namespace is a copy of the host's, not of the job's: it sees no mount of the job and
// keeps none alive. There is a small tmpfs that the user's other processes cannot reach. In it are
// the target, an empty directory of the user's; HOME, another empty directory, so that no other
// process of the user leaves a configuration there that names commands; and fusermount and
// fusermount3, which are batchai-fusermount, which hands out the open /dev/fuse.
#pragma once

#include <string>
#include <vector>

#include "spank/helper/credentials.hpp"
#include "spank/helper/job_directory.hpp"
#include "sys/result.hpp"

namespace batchai::spank {

struct DaemonProgram {
    std::vector<std::string> command;
    Credentials user;
    std::string mount_root;  // the small tmpfs lies there
    std::string target;      // a directory below it
    std::string cache;       // TMPDIR and XDG_CACHE_HOME: the user can write there
    bool of_store = false;   // its credentials are the store's, not the user's
    int host = -1;           // the mount namespace to copy
    int device = -1;         // /dev/fuse of the mount; becomes kFuseDescriptor
    int credentials = -1;    // becomes kCredentialsDescriptor; -1: none
    int log = -1;            // standard output and error, and why the program cannot start
    std::string fusermount;  // batchai-fusermount's path
};

// Starts it, once its identity is in the job's notes (daemon_notes.hpp): where we are killed
// before, it ends by itself.
sys::Result<void> start_daemon(const DaemonProgram&, const JobDirectory&);

}  // namespace batchai::spank

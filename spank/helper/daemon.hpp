// SPDX-License-Identifier: Apache-2.0
//
// Starts a program that serves a job's mount for as long as the job lives: root's to start and to
// end, but without any of root's rights.
//
// It runs as the job's user with no capability, none to be had, no new privileges and no core
// dumps; with the groups of the user, but nogroup as its own: another process of the user's can
// neither trace it nor look at its open files, where the site's credentials may be. It belongs to
// no step: it is nobody's child, in a session, PID namespace (the end of the program ends all that
// it has started, wherever those went) and cgroup (cgroup.hpp) of its own.
//
// Its mount namespace is a copy of the host's, not of the job's: it sees no mount of the job and
// keeps none alive. There, the target is an empty directory of the user's in a small tmpfs, and
// fusermount and fusermount3 are batchai-fusermount, which hands out the open /dev/fuse.
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
    std::string home;        // HOME and TMPDIR
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

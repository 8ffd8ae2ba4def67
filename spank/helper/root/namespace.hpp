// SPDX-License-Identifier: Apache-2.0
//
// The job's mount namespace. It is made once per job and node, and kept by a bind of
// /proc/PID/ns/mnt on the job's pin file, where every later task finds it. Mounts of the host
// arrive in it (rslave); the job's mounts do not leave it.
//
// Linux 6.x refuses to pin (EINVAL) a namespace whose number is not larger than that of the
// namespace that pins it. Linux gives out the numbers per CPU in batches, so outside of the initial
// namespace this fails at random. Then the rest of the CPU's batch is used up, and unshare is
// repeated on the same CPU. The cpuset of a job may have no other one.
#pragma once

#include <sys/types.h>

#include <string>

#include "spank/helper/root/job_directory.hpp"
#include "sys/result.hpp"

namespace batchai::spank {

// Makes /run/batchai and /run/batchai/jobs, the first as a private mount of itself, because Linux
// refuses a pin in a shared mount. Only root can open, and so lock, a file in them.
sys::Result<void> prepare_base();

// Puts this process into a new mount namespace and pins it. prepare_base must have been called.
sys::Result<void> create_pinned_namespace(const JobDirectory&);

// True when the pin file is a pinned namespace.
bool is_pinned(const JobDirectory&);

// The source of the tmpfs at the mount root, as /proc/PID/mountinfo shows it in each namespace with
// the mount: the name of the job's temporary directory, which is unique.
std::string root_mount_source(const std::string& job_temp);

// Kills every process that still has mounts of the job: in the pinned namespace, in Slurm's, or in
// a copy of those that the process made. It spares processes in our own namespace. It does not find
// a process that moved one mount elsewhere and unmounted the others, or that only has an open file
// on a mount. For these a site needs proctrack/cgroup.
//
// user: of the namespaces that users have made, only those of this user are examined. Other users
// could make the tables of theirs long, and the user's job would wait. root_source: empty if the
// job does not have the mount yet.
//
// Returns after about 10 seconds. False: some processes are not examined by then, or they still
// make new ones.
bool kill_processes(const JobDirectory&, uid_t user, const std::string& root_source);

// Removes the pin. The kernel removes a namespace without processes, and its mounts.
void unpin(const JobDirectory&);

}  // namespace batchai::spank

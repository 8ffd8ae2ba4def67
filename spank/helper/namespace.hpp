// SPDX-License-Identifier: Apache-2.0
//
// The job's mount namespace: made once per job and node, and kept by a bind of /proc/PID/ns/mnt on
// the job's pin file, where every later task finds it. Host mounts still arrive in it (rslave);
// ours never leave it.
//
// Linux 6.x refuses to pin (EINVAL) a namespace whose number is not above that of the one it is
// pinned from. Numbers are handed out per CPU in batches, so outside of the initial namespace this
// happens at random; unshare is then repeated on each CPU in turn, one of which has higher numbers.
#pragma once

#include <sys/types.h>

#include <string>

#include "spank/helper/job_directory.hpp"
#include "sys/result.hpp"

namespace batchai::spank {

// Makes /run/batchai and /run/batchai/jobs, the first a private mount of itself: in a shared mount
// a pin would be refused. Nobody but root can open, and so lock, anything in them.
sys::Result<void> prepare_base();

// Puts this process into a new mount namespace and pins it. prepare_base must have been called.
sys::Result<void> create_pinned_namespace(const JobDirectory&);

// True when the pin file is a pinned namespace.
bool is_pinned(const JobDirectory&);

// The source of the tmpfs at the mount root, as /proc/PID/mountinfo shows it in each namespace that
// has the mount: the name of the job's temporary directory, which no other job has or had.
std::string root_mount_source(const std::string& job_temp);

// Kills every process that still has mounts of the job: in the pinned namespace, in Slurm's, or in
// one that the process has made as a copy of those. Leaves alone the processes of the namespace
// that we are in. Not found is a process that has moved one mount elsewhere and unmounted the
// others, or that has only an open file on one: for these a site needs proctrack/cgroup.
//
// user: of the namespaces that users have made, only the user's own are looked at. The tables of
// others may be made long, and the user's job would wait for it. root_source: empty where the job
// has not come to have the mount.
//
// Ends after about 10 seconds. False: it has not come to look at all processes by then.
bool kill_processes(const JobDirectory&, uid_t user, const std::string& root_source);

// Takes the pin away: without processes, the kernel removes the namespace with its mounts.
void unpin(const JobDirectory&);

// True where an open file lies on a mount of this namespace. A path through /proc/PID/root leads
// into others, in which users can have mounted what they like at any path.
bool is_in_this_namespace(int fd);

// True when mounts made at path would appear in other namespaces too.
bool is_shared_mount(const std::string& path);

}  // namespace batchai::spank

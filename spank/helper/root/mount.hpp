// SPDX-License-Identifier: Apache-2.0
//
// Makes a job's mounts in the current mount namespace: a small read-only tmpfs of root at the mount
// root, and the job's mounts on its directories. The user's processes may already run in the
// namespace (job_container/tmpfs), so it follows no path that a user can change: sources are open
// directories, and targets are made and opened before the tmpfs is attached. Mounts are always
// nosuid and nodev. A process of its own (child.hpp) asks the server of a source, and mounts what
// the kernel asks it for.
#pragma once

#include <string>
#include <vector>

#include "job/plan.hpp"
#include "job/policy.hpp"
#include "spank/helper/credentials.hpp"
#include "spank/helper/root/child.hpp"
#include "spank/helper/root/fuse.hpp"
#include "sys/result.hpp"

namespace batchai::spank {

// What root must not open by its path.
struct Sources {
    std::vector<sys::UniqueFd> files;      // O_PATH, one for each local mount, in order
    std::vector<std::string> credentials;  // one for each mount with the user's own, in order
    BATCHAI_FIELDS(credentials)
};

// Call with the user's rights: opens the directories and images of the mounts, and reads the user's
// own credentials. The answer is for sources_of().
sys::Result<Answer> open_sources(const std::vector<job::Mount>&, const job::SitePolicy&);
sys::Result<Sources> sources_of(Answer);

// What open_sources() waits for, for a message; empty: nothing.
std::string source_names(const std::vector<job::Mount>&, const job::SitePolicy&);

// This function approves the mounts. Mounts that ask a server together may take
// policy.mount_timeout. Without a FuseHost no FUSE program can be started. temporary: the job's
// temporary directory on the node, opened by the user's process (O_PATH), to be shown at
// job::kTemporary; -1: none.
sys::Result<void> make_mounts(const std::vector<job::Mount>&, const Sources&,
                              const job::SitePolicy&, const Credentials& user, const FuseHost*,
                              int temporary = -1);

// allowlist.cpp: decides as root, by the policy alone, whether a mount is allowed. It compares the
// user's plan with the [[share]] and [[allow]] entries again, using the directory that was opened
// and not its name.
//
// source: the path of the directory or image that was opened with the user's rights, without
// symbolic links; empty for tmpfs. Returns the mount as it may be made, read-only if the policy
// says so. The target must not be one of batchai's own (job::kReservedTargets). For a remote mount,
// the entry gives all values except those that it leaves to jobs.
sys::Result<job::Mount> approve(job::Mount mount, const std::string& source,
                                const job::SitePolicy&);

// The policy's entry for a remote mount. nullptr: the mount is of another kind, or the policy has
// no such entry.
const job::FileSystem* entry_of(const job::Mount&, const job::SitePolicy&);

}  // namespace batchai::spank

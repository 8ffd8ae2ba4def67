// SPDX-License-Identifier: Apache-2.0
//
// Makes a job's mounts in the current mount namespace: a small read-only tmpfs of root at the mount
// root, and the job's mounts on its directories. The user's processes may already run in the
// namespace (job_container/tmpfs), so it follows no path that a user can change: sources are open
// directories, and targets are made and opened before the tmpfs is attached. Mounts are always
// nosuid and nodev. A process of its own talks to each server.
#pragma once

#include <string>
#include <vector>

#include "job/plan.hpp"
#include "job/policy.hpp"
#include "spank/helper/credentials.hpp"
#include "spank/helper/root/fuse.hpp"
#include "sys/result.hpp"

namespace batchai::spank {

// files: the files that the user's process opened, in order, one for each mount with
// is_opened_by_user. This function approves the mounts (allowlist.hpp). Mounts from servers
// together may take policy.mount_timeout. Without a FuseHost no FUSE program can be started.
// temporary: the job's temporary directory on the node, opened by the user's process, to be shown
// at job::kTemporary; -1: none.
sys::Result<void> make_mounts(const std::vector<job::Mount>&,
                              const std::vector<sys::UniqueFd>& files, const job::SitePolicy&,
                              const Credentials& user, const FuseHost*, int temporary = -1);

// True if root must not open the source, or the file with the credentials, by its path.
bool is_opened_by_user(const job::Mount&, const job::SitePolicy&);

// Opens the source, with the rights of the caller.
sys::Result<sys::UniqueFd> open_source(const job::Mount&, const job::SitePolicy&);

}  // namespace batchai::spank

// SPDX-License-Identifier: Apache-2.0
//
// Makes a job's mounts in the current mount namespace: a small read-only tmpfs of root's at the
// mount root, and the job's mounts on its directories. The user may already run in the namespace
// (job_container/tmpfs), so no path that a user can change is followed: sources are open
// directories, targets are made and opened while the tmpfs is nowhere yet. nosuid and nodev always.
// A server is spoken to in a process of its own.
#pragma once

#include <string>
#include <vector>

#include "job/plan.hpp"
#include "job/policy.hpp"
#include "spank/helper/credentials.hpp"
#include "spank/helper/fuse.hpp"
#include "sys/result.hpp"

namespace batchai::spank {

// files: as opened by the user for each mount of which is_opened_by_user, in order. Mounts are
// approved (allowlist.hpp) here. Those of servers together may take policy.mount_timeout. Without a
// FuseHost no program can be started. temporary: the job's temporary directory on the node, as
// opened by the user, to be shown at job::kTemporary; -1: none.
sys::Result<void> make_mounts(const std::vector<job::Mount>&,
                              const std::vector<sys::UniqueFd>& files, const job::SitePolicy&,
                              const Credentials& user, const FuseHost*, int temporary = -1);

// True where root must not open the source, or the file of the credentials, by its path.
bool is_opened_by_user(const job::Mount&, const job::SitePolicy&);

// Opens it, with the rights of the calling user.
sys::Result<sys::UniqueFd> open_source(const job::Mount&, const job::SitePolicy&);

}  // namespace batchai::spank

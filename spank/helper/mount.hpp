// SPDX-License-Identifier: Apache-2.0
//
// Makes a job's mounts in the current mount namespace: a small tmpfs of ours at the mount root, and
// the job's mounts on directories that we create in it. A mount never follows a path that a user
// can change: sources are open directories, targets are made and opened one component at a time in
// our own tmpfs. nosuid and nodev always.
#pragma once

#include <string>
#include <vector>

#include "job/plan.hpp"
#include "job/policy.hpp"
#include "spank/helper/credentials.hpp"
#include "sys/result.hpp"

namespace batchai::spank {

// sources: as opened by the user for each mount in order, -1 for tmpfs. Mounts are approved
// (allowlist.hpp) here.
sys::Result<void> make_mounts(const std::vector<job::Mount>&,
                              const std::vector<sys::UniqueFd>& sources, const job::SitePolicy&,
                              const Credentials& user);

// The source of a bind or overlay mount, opened with the rights of the calling user.
sys::Result<sys::UniqueFd> open_source(const job::Mount&);

}  // namespace batchai::spank

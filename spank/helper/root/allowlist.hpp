// SPDX-License-Identifier: Apache-2.0
//
// Decides as root, by the policy alone, whether a mount is allowed. It compares the user's plan
// with the [[share]] and [[allow]] entries again, using the directory that was opened and not its
// name.
#pragma once

#include <string>

#include "job/mount.hpp"
#include "job/policy.hpp"
#include "sys/result.hpp"

namespace batchai::spank {

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

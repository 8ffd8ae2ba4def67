// SPDX-License-Identifier: Apache-2.0
//
// The last word on a mount, with root's rights and the policy alone: what the user's side planned
// is held against the [[share]] and [[allow]] entries again, by the directory that was really
// opened.
#pragma once

#include <string>

#include "job/mount.hpp"
#include "job/policy.hpp"
#include "sys/result.hpp"

namespace batchai::spank {

// source: the path of the directory or image that was opened with the user's rights, symbolic links
// resolved; empty for tmpfs. Returns the mount as it may be made: read-only where the policy says
// so. Of a remote mount everything but what the entry leaves to jobs is the entry's.
sys::Result<job::Mount> approve(job::Mount mount, const std::string& source,
                                const job::SitePolicy&);

// The entry that a remote mount names; nullptr for another mount, and for a name that the policy
// does not have.
const job::FileSystem* entry_of(const job::Mount&, const job::SitePolicy&);

}  // namespace batchai::spank

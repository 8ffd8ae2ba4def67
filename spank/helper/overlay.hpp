// SPDX-License-Identifier: Apache-2.0
//
// The overlay mount: the job sees a directory of the node's, and what the job writes lies in
// memory.
//
// The directory for what is written ("upper") decides who may read and enter the overlay's top
// directory, so it gets the source's owner, mode, access lists and extended attributes. The user
// may already run in the namespace (job_container/tmpfs), so everything is made and set by
// descriptor in a detached tmpfs of root's, which no other process can reach. It is attached last.
// Even then only root can enter it (0700), and the overlay hides it.
#pragma once

#include "job/plan.hpp"
#include "sys/result.hpp"

namespace batchai::spank {

// Mounts on target, an open directory of this mount namespace. lower: the source, as its user has
// opened it. Refused: a source with an access list that the overlay cannot keep, such as NFSv4's.
sys::Result<void> mount_overlay(const job::Mount&, const job::Overlay&, int lower, int target);

}  // namespace batchai::spank

// SPDX-License-Identifier: Apache-2.0
//
// The overlay mount: the job sees a directory of the node, and its writes are in memory.
//
// The directory for the writes ("upper") decides about access to the overlay's top directory. So it
// gets the source's owner, mode, access lists and extended attributes. The user's processes may
// already run in the namespace (job_container/tmpfs). So everything is made and set by descriptor
// in a detached tmpfs of root, which no other process can reach. It is attached last. Even then
// only root can enter it (0700), and the overlay hides it.
#pragma once

#include "job/plan.hpp"
#include "sys/result.hpp"

namespace batchai::spank {

// Mounts on target, an open directory of this mount namespace. lower: the source, as the user's
// process opened it. An error: a source with an access list that the overlay cannot keep, such as
// NFSv4's.
sys::Result<void> mount_overlay(const job::Mount&, const job::Overlay&, int lower, int target);

}  // namespace batchai::spank

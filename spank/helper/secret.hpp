// SPDX-License-Identifier: Apache-2.0
//
// Where a mount's credentials are read: files that their owner alone can read. They are in memory
// and in pipes to the kernel or a program only; no path, argument, variable, message or state of
// ours has anything of them.
#pragma once

#include <string>

#include "job/mount.hpp"
#include "job/policy.hpp"
#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::spank {

// What the FileSystem's credentials say: of the store, of the user's file (opened as the user:
// file), or of the job. The file must belong to root or to owner, a regular file of mode 0600 or
// less. Of the store's file, and of a program that gets its content, only root may be able to
// change a component of the path. kind none: empty.
sys::Result<std::string> read_credentials(const job::Mount&, const job::FileSystem&,
                                          const job::SitePolicy&, int file, uid_t owner);

// The secret of a [[secret]] entry whose file is in the store.
sys::Result<std::string> read_stored_secret(const job::SecretPolicy&, const job::SitePolicy&);

}  // namespace batchai::spank

// SPDX-License-Identifier: Apache-2.0
//
// Reads a mount's credentials from files that only their owner can read. Credentials are only in
// memory and in pipes to the kernel or a program, and in no path, argument, variable, message or
// state.
#pragma once

#include <string>

#include "job/mount.hpp"
#include "job/policy.hpp"
#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::spank {

// Reads the credentials that the FileSystem names: from the store, from the user's file (opened as
// the user: file), or from the job. The file must be a regular file of root or of owner, with mode
// 0600 or less. Only root may be able to change a component of the path of a store's file, and of a
// program that gets it. kind none: empty.
sys::Result<std::string> read_credentials(const job::Mount&, const job::FileSystem&,
                                          const job::SitePolicy&, int file, uid_t owner);

// The secret of a [[secret]] entry whose file is in the store.
sys::Result<std::string> read_stored_secret(const job::SecretPolicy&, const job::SitePolicy&);

}  // namespace batchai::spank

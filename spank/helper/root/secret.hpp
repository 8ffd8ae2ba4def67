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

namespace batchai::spank {

// The credentials that the FileSystem names: from the store, from the user's file (users: its text,
// which a process with the user's rights has read), or from the job. A file of the store must be a
// regular file of root with mode 0600 or less. Only root may be able to change a component of its
// path, and of the path of a program that gets it. kind none: empty.
sys::Result<std::string> read_credentials(const job::Mount&, const job::FileSystem&,
                                          const job::SitePolicy&, const std::string& users);

// The secret of a [[secret]] entry whose file is in the store.
sys::Result<std::string> read_stored_secret(const job::SecretPolicy&, const job::SitePolicy&);

}  // namespace batchai::spank

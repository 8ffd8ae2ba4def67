// SPDX-License-Identifier: Apache-2.0
//
// Reads the site policy and its secrets for root, which trusts only files that no other user can
// change.
#pragma once

#include <string>

#include "job/mount.hpp"
#include "job/policy.hpp"
#include "sys/result.hpp"

namespace batchai::spank {

// The text of a policy that only root can change or exchange: the file, each directory of its path,
// and each symbolic link on the way (sys::open_trusted). If this process is not root, only the file
// is checked: others must not be able to write to it.
sys::Result<std::string> read_trusted_policy(const std::string& file);

// The error is the first mistake.
sys::Result<job::SitePolicy> parse_trusted_policy(const std::string& text, const std::string& file);

// Reads and parses the policy.
sys::Result<job::SitePolicy> load_trusted_policy(const std::string& file);

// Credentials are in files that only their owner can read. From there they go only into memory and
// pipes to the kernel or a program, and into no path, argument, variable, message or state.
//
// The credentials that the FileSystem names: from the store, from the user's file (users: its text,
// which a process with the user's rights has read), or from the job. A file of the store must be a
// regular file of root with mode 0600 or less. Only root may be able to change a component of its
// path, and of the path of a program that gets it. kind none: empty.
sys::Result<std::string> read_credentials(const job::Mount&, const job::FileSystem&,
                                          const job::SitePolicy&, const std::string& users);

// The secret of a [[secret]] entry whose file is in the store.
sys::Result<std::string> read_stored_secret(const job::SecretPolicy&, const job::SitePolicy&);

}  // namespace batchai::spank

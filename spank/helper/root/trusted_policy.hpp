// SPDX-License-Identifier: Apache-2.0
//
// Reads the site policy for root, which trusts only files that no other user can change.
#pragma once

#include <string>

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

}  // namespace batchai::spank

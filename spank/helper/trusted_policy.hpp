// SPDX-License-Identifier: Apache-2.0
//
// The site policy as root believes it.
#pragma once

#include <string>

#include "job/policy.hpp"
#include "sys/result.hpp"

namespace batchai::spank {

// Written by root (or by us, where we are not root), and writable by nobody else. The error is the
// first mistake.
sys::Result<job::SitePolicy> load_trusted_policy(const std::string& file);

}  // namespace batchai::spank

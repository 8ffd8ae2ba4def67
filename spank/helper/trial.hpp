// SPDX-License-Identifier: Apache-2.0
//
// `batchai-helper try`, run by `batchai admin doctor` as root: makes every mount that the site
// policy speaks of, each in a namespace of its own that ends at once, and a directory where jobs
// have their temporary ones. What users may have put somewhere is opened as nobody. No job is
// touched.
#pragma once

#include <string>

namespace batchai::spank {

// A line on standard output for each: "ok WHAT", "skipped WHAT: why", "failed WHAT: why" or, where
// only some users can read what is mounted, "warning WHAT: why". Returns the exit code: 0, or 1
// where one failed or, after a line on standard error, the policy cannot be used.
int try_policy(const std::string& policy_file);

}  // namespace batchai::spank

// SPDX-License-Identifier: Apache-2.0
//
// `batchai-helper try`. `batchai admin doctor` runs it as root. It makes each mount of the site
// policy in a namespace of its own that ends at once, and a directory below job_temp. It opens
// directories in which users can write as user nobody. It does not touch jobs.
#pragma once

#include <string>

namespace batchai::spank {

// Prints a line on standard output for each: "ok WHAT", "skipped WHAT: why" or "failed WHAT: why".
// If only some users can read a mount, the line is "warning WHAT: why". Returns the exit code: 0,
// or 1 if one failed. If the policy cannot be used, it returns 1 after a line on standard error.
int try_policy(const std::string& policy_file);

}  // namespace batchai::spank

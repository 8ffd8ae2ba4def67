// SPDX-License-Identifier: Apache-2.0
//
// Replaces variables in texts of a job file, and placeholders in commands of the site policy.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sys/result.hpp"

namespace batchai::job {

// Expands $NAME and ${NAME} in paths and values of a job file. Only variables named AZ_BATCHAI_*
// are replaced. All other text is left for the shell ("$oauthtoken" must survive). An unknown
// AZ_BATCHAI_ variable becomes empty, as in the service.
using Environment = std::map<std::string, std::string>;
// Called with the name of each variable that becomes empty because the job does not have it.
using OnUnknown = std::function<void(const std::string& name)>;
std::string expand(std::string_view text, const Environment& environment,
                   const OnUnknown& on_unknown = {});

// Words in braces in a command of the site policy, such as {source} and {image}, and their values.
// No shell reads such a command.
using Placeholders = std::vector<std::pair<std::string, std::string>>;  // {"{uid}", "1000"}

// The first unknown word in braces; empty if there is none.
std::string unknown_placeholder(const std::string& argument, const std::vector<std::string>& known);

// Puts the values in, and does not search a value again. An error: a placeholder whose value is
// empty.
sys::Result<std::vector<std::string>> expand_placeholders(const std::vector<std::string>& command,
                                                          const Placeholders&);

}  // namespace batchai::job

// SPDX-License-Identifier: Apache-2.0
//
// Replaces placeholders in a command of the site policy: words in braces such as {source} and
// {image}. No shell reads such a command.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sys/result.hpp"

namespace batchai::job {

using Placeholders = std::vector<std::pair<std::string, std::string>>;  // {"{uid}", "1000"}

// The first unknown word in braces; empty if there is none.
std::string unknown_placeholder(const std::string& argument, const std::vector<std::string>& known);

// Puts the values in, and does not search a value again. An error: a placeholder whose value is
// empty.
sys::Result<std::vector<std::string>> expand_placeholders(const std::vector<std::string>& command,
                                                          const Placeholders&);

}  // namespace batchai::job

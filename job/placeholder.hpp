// SPDX-License-Identifier: Apache-2.0
//
// The words in braces that stand for something in a command of the site policy: {source}, {image}.
// No shell sees such a command.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sys/result.hpp"

namespace batchai::job {

using Placeholders = std::vector<std::pair<std::string, std::string>>;  // {"{uid}", "1000"}

// The first word in braces that is none of the known; empty where there is none.
std::string unknown_placeholder(const std::string& argument, const std::vector<std::string>& known);

// Puts the values in; what stands in a value is not looked at again. Refused: a placeholder whose
// value is empty.
sys::Result<std::vector<std::string>> expand_placeholders(const std::vector<std::string>& command,
                                                          const Placeholders&);

}  // namespace batchai::job

// SPDX-License-Identifier: Apache-2.0
//
// The environment variables of a process, as a value.
#pragma once

#include <map>
#include <string>

namespace batchai::launcher::env {

using Environment = std::map<std::string, std::string>;

// The variables of this process.
Environment current();

// Empty if it is not set.
std::string value_of(const Environment& environment, const std::string& name);

}  // namespace batchai::launcher::env

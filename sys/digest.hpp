// SPDX-License-Identifier: Apache-2.0
//
// SHA-256, for telling whether two machines have the same file.
#pragma once

#include <string>
#include <string_view>

namespace batchai::sys {

// FIPS 180-4, as 64 hexadecimal digits; what sha256sum(1) prints. Empty where the system's policy
// forbids the algorithm.
std::string sha256(std::string_view data);

}  // namespace batchai::sys

// SPDX-License-Identifier: Apache-2.0
//
// Digests, which tell whether two machines have the same file, or two jobs the same inputs.
#pragma once

#include <string>
#include <string_view>

#include "sys/result.hpp"

namespace batchai::sys {

// SHA-256 (FIPS 180-4) of a regular file, as 64 hexadecimal digits: what sha256sum(1) prints.
Result<std::string> file_sha256(const std::string& path);

// The SHA-256 of a text, in the same form.
std::string sha256(std::string_view text);

}  // namespace batchai::sys

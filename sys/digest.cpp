// SPDX-License-Identifier: Apache-2.0
#include "sys/digest.hpp"

#include <sys/types.h>

#include <sha256.h>

#include <cstdint>

namespace batchai::sys {

Result<std::string> file_sha256(const std::string& path) {
    char digits[SHA256_DIGEST_STRING_LENGTH];
    if (SHA256File(path.c_str(), digits) == nullptr) return errno_error(path);
    return std::string(digits);
}

std::string sha256(std::string_view text) {
    char digits[SHA256_DIGEST_STRING_LENGTH];
    SHA256Data(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(), digits);
    return digits;
}

}  // namespace batchai::sys

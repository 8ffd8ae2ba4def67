// SPDX-License-Identifier: Apache-2.0
#include "sys/digest.hpp"

#include <sys/types.h>

#include <sha256.h>

namespace batchai::sys {

Result<std::string> file_sha256(const std::string& path) {
    char digits[SHA256_DIGEST_STRING_LENGTH];
    if (SHA256File(path.c_str(), digits) == nullptr) return errno_error(path);
    return std::string(digits);
}

}  // namespace batchai::sys

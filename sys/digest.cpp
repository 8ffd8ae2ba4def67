// SPDX-License-Identifier: Apache-2.0
#include "sys/digest.hpp"

#include <openssl/evp.h>

#include <array>

namespace batchai::sys {

std::string sha256(std::string_view data) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    std::size_t length = 0;
    if (EVP_Q_digest(nullptr, "SHA256", nullptr, data.data(), data.size(), digest.data(),
                     &length) != 1)
        return {};
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (std::size_t i = 0; i < length; ++i) {
        text += kDigits[digest[i] >> 4];
        text += kDigits[digest[i] & 15];
    }
    return text;
}

}  // namespace batchai::sys

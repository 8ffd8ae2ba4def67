// SPDX-License-Identifier: Apache-2.0
//
// Veto: a number that is reduced together with the data. NaN means that this rank has no data, so
// that all ranks discard the result; other ranks give zero. Every operation and any factor preserve
// a NaN. Only for floating types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "batchai/collectives.h"

namespace batchai::coll {

// The bits of a type's numbers. bytes 0: it is not a floating type.
struct FloatFormat {
    std::size_t bytes = 0;
    std::uint64_t infinity = 0;   // its bits
    std::uint64_t magnitude = 0;  // the bits that are not the sign
};

constexpr FloatFormat float_format(std::uint8_t type) {
    switch (type) {
        case BATCHAI_COLL_FLOAT32:
            return {4, 0x7f800000, 0x7fffffff};
        case BATCHAI_COLL_FLOAT64:
            return {8, 0x7ff0000000000000, 0x7fffffffffffffff};
        case BATCHAI_COLL_FLOAT16:
            return {2, 0x7c00, 0x7fff};
        case BATCHAI_COLL_BFLOAT16:
            return {2, 0x7f80, 0x7fff};
        default:
            return {};
    }
}

inline void set_veto(std::uint8_t type, bool veto, std::byte* number) {
    const FloatFormat format = float_format(type);
    const std::uint64_t quiet_nan = format.infinity | format.infinity >> 1;  // mantissa's top bit
    const std::uint64_t bits = veto ? quiet_nan : 0;
    std::memcpy(number, &bits, format.bytes);  // all supported processors are little-endian
}

inline bool is_veto(std::uint8_t type, const std::byte* number) {
    const FloatFormat format = float_format(type);
    std::uint64_t bits = 0;
    std::memcpy(&bits, number, format.bytes);
    return (bits & format.magnitude) > format.infinity;
}

}  // namespace batchai::coll

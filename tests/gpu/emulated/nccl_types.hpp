// SPDX-License-Identifier: Apache-2.0
//
// NCCL's types and operations on the host.
#pragma once

#include <nccl.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace emulation {

template <class Stored>
double read(Stored stored) {
    return static_cast<double>(stored);
}
struct Brain {
    std::uint16_t bits;
};
inline double read(Brain stored) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(stored.bits) << 16);
}
template <class Stored>
void write(Stored& to, double value) {
    to = static_cast<Stored>(value);
}
inline void write(Brain& to, double value) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    to.bits = static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline double combined(ncclRedOp_t op, double a, double b) {
    switch (op) {
        case ncclMin:
            return std::min(a, b);
        case ncclMax:
            return std::max(a, b);
        case ncclProd:
            return a * b;
        default:
            return a + b;
    }
}

inline std::uint64_t combined(ncclRedOp_t op, std::int64_t a, std::int64_t b) {
    switch (op) {
        case ncclMin:
            return static_cast<std::uint64_t>(std::min(a, b));
        case ncclMax:
            return static_cast<std::uint64_t>(std::max(a, b));
        case ncclProd:
            return static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b);
        default:
            return static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b);
    }
}

// to[i] = op over ranks of what they have at i, each `stride` bytes after the other; integers wrap.
template <class Stored>
void reduce(const std::byte* from, std::size_t stride, int ranks, std::size_t count, ncclRedOp_t op,
            std::byte* to) {
    for (std::size_t i = 0; i < count; ++i) {
        const auto at = [&](int rank) {
            const std::byte* const own = from + static_cast<std::size_t>(rank) * stride;
            return reinterpret_cast<const Stored*>(own)[i];
        };
        Stored& result = reinterpret_cast<Stored*>(to)[i];
        if constexpr (std::is_integral_v<Stored>) {
            auto value = static_cast<std::int64_t>(at(0));
            for (int r = 1; r < ranks; ++r) {
                value = static_cast<std::int64_t>(
                    combined(op, value, static_cast<std::int64_t>(at(r))));
            }
            result = static_cast<Stored>(value);
        } else {
            double value = read(at(0));
            for (int r = 1; r < ranks; ++r) value = combined(op, value, read(at(r)));
            write(result, value);
        }
    }
}

using Reduce = void (*)(const std::byte*, std::size_t, int, std::size_t, ncclRedOp_t, std::byte*);
struct Type {
    std::size_t bytes;
    Reduce reduce;
};
template <class Stored>
constexpr Type type() {
    return {sizeof(Stored), reduce<Stored>};
}
inline Type type_of(ncclDataType_t wanted) {
    switch (wanted) {
        case ncclFloat64:
            return type<double>();
        case ncclInt32:
            return type<std::int32_t>();
        case ncclInt64:
            return type<std::int64_t>();
        case ncclInt8:
            return type<std::int8_t>();
        case ncclUint8:
            return type<std::uint8_t>();
        case ncclFloat16:
            return type<_Float16>();
        case ncclBfloat16:
            return type<Brain>();
        default:
            return type<float>();
    }
}

}  // namespace emulation

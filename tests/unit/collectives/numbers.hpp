// SPDX-License-Identifier: Apache-2.0
//
// The types that are reduced, as a test sees them: written for being obviously right, a number at a
// time and by arithmetic, to compare the library's kernels with.
#pragma once

#include <batchai/collectives.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace batchai::coll::test {

// A type of batchai_coll_type: what is in memory, and what it is computed as.
template <class T, batchai_coll_type Type>
struct Plain {
    using Stored = T;
    using Value = T;
    static constexpr batchai_coll_type kType = Type;
    static Value read(Stored stored) { return stored; }
    static Stored write(Value value) { return value; }
};

struct Bool {
    using Stored = std::uint8_t;
    using Value = std::uint8_t;
    static constexpr batchai_coll_type kType = BATCHAI_COLL_BOOL;
    static Value read(Stored stored) { return stored != 0; }
    static Stored write(Value value) { return value; }
};

// A float of 16 bits.
template <int MantissaBits, batchai_coll_type Type>
struct Short {
    using Stored = std::uint16_t;
    using Value = float;
    static constexpr batchai_coll_type kType = Type;
    static constexpr int kExponentBits = 15 - MantissaBits;
    static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
    static constexpr int kLeast = 1 - kBias;  // the least exponent of a normal number
    static constexpr Stored kInfinity = ((1 << kExponentBits) - 1) << MantissaBits;
    static constexpr Stored kQuiet = 1 << (MantissaBits - 1);

    // A NaN keeps what its mantissa says, but is quiet.
    static Value read(Stored stored) {
        const int exponent = (stored & kInfinity) >> MantissaBits;
        const int mantissa = stored & ((1 << MantissaBits) - 1);
        float value = 0;
        if ((stored & kInfinity) != kInfinity) {
            value = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), kLeast - MantissaBits)
                                  : std::ldexp(static_cast<float>(mantissa | 1 << MantissaBits),
                                               exponent - kBias - MantissaBits);
        } else if (mantissa == 0) {
            value = std::numeric_limits<float>::infinity();
        } else {
            value = std::bit_cast<float>(0x7fc00000u | static_cast<std::uint32_t>(mantissa)
                                                           << (23 - MantissaBits));
        }
        return stored & 0x8000 ? -value : value;
    }

    static Stored write(Value value) {
        const Stored sign = std::signbit(value) ? 0x8000 : 0;
        const float size = std::fabs(value);
        if (std::isnan(value)) {
            const std::uint32_t upper = std::bit_cast<std::uint32_t>(size) >> (23 - MantissaBits);
            return static_cast<Stored>(sign | kInfinity | kQuiet |
                                       (upper & ((1u << MantissaBits) - 1)));
        }
        if (std::isinf(value) || size == 0) return sign | (size == 0 ? Stored{0} : kInfinity);
        int exponent = std::max(std::ilogb(size), kLeast);
        // In units of the last place; nearbyint rounds ties to even.
        const int mantissa = static_cast<int>(
            std::nearbyint(std::ldexp(static_cast<double>(size), MantissaBits - exponent)));
        // One too many places, or one too few, are in the exponent, as the encoding has it.
        const int encoded = ((exponent - kLeast) << MantissaBits) + mantissa;
        return static_cast<Stored>(sign | std::min<int>(encoded, kInfinity));
    }
};

using Float32 = Plain<float, BATCHAI_COLL_FLOAT32>;
using Float64 = Plain<double, BATCHAI_COLL_FLOAT64>;
using Int32 = Plain<std::int32_t, BATCHAI_COLL_INT32>;
using Int64 = Plain<std::int64_t, BATCHAI_COLL_INT64>;
using Int8 = Plain<std::int8_t, BATCHAI_COLL_INT8>;
using Uint8 = Plain<std::uint8_t, BATCHAI_COLL_UINT8>;
using Float16 = Short<10, BATCHAI_COLL_FLOAT16>;
using Bfloat16 = Short<7, BATCHAI_COLL_BFLOAT16>;

template <class Body>
void for_each_short(Body body) {
    body(Float16{});
    body(Bfloat16{});
}
template <class Body>
void for_each_float(Body body) {
    body(Float32{});
    body(Float64{});
    for_each_short(body);
}
template <class Body>
void for_each_type(Body body) {
    for_each_float(body);
    body(Int32{});
    body(Int64{});
    body(Int8{});
    body(Uint8{});
    body(Bool{});
}

// Equal bits, or both not a number: which NaN is not promised.
template <class Type>
bool same(typename Type::Stored a, typename Type::Stored b) {
    if constexpr (std::is_floating_point_v<typename Type::Value>) {
        if (std::isnan(Type::read(a)) && std::isnan(Type::read(b))) return true;
        if (std::signbit(Type::read(a)) != std::signbit(Type::read(b))) return false;
        return Type::read(a) == Type::read(b);
    }
    return a == b;
}

template <class Type>
typename Type::Value apply(batchai_coll_op op, typename Type::Value a, typename Type::Value b) {
    using Value = typename Type::Value;
    // Sums and products of integers, modulo the size of the type.
    const auto wrapped = [](auto value) { return static_cast<Value>(value); };
    switch (op) {
        case BATCHAI_COLL_MIN:
            return a != a || a < b ? a : b;
        case BATCHAI_COLL_MAX:
            return a != a || a > b ? a : b;
        case BATCHAI_COLL_PRODUCT:
            if constexpr (std::is_floating_point_v<Value>) return a * b;
            return wrapped(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
        default:
            if constexpr (std::is_same_v<Type, Bool>) return a | b;
            if constexpr (std::is_floating_point_v<Value>) return a + b;
            return wrapped(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    }
}

template <class Type>
typename Type::Stored scaled_plainly(typename Type::Value value, double after, int divisor) {
    using Value = typename Type::Value;
    if constexpr (std::is_floating_point_v<Value>) {
        value /= static_cast<Value>(divisor);
        value *= static_cast<Value>(after);
    } else if (divisor != 1) {
        value = static_cast<Value>(value / divisor);
    }
    return Type::write(value);
}

// The reduction of what stored(k) returns for each of the sources, as it is promised: changed as it
// is read, combined in order, divided and changed, and rounded once.
template <class Type, class Source>
typename Type::Stored reduced_plainly(batchai_coll_op op, std::size_t sources, Source stored,
                                      double before, double after, int divisor) {
    using Value = typename Type::Value;
    const auto read = [&](std::size_t k) {
        const Value value = Type::read(stored(k));
        if constexpr (!std::is_floating_point_v<Value>) return value;
        return static_cast<Value>(value * static_cast<Value>(before));
    };
    Value value = read(0);
    for (std::size_t k = 1; k < sources; ++k) value = apply<Type>(op, value, read(k));
    return scaled_plainly<Type>(value, after, divisor);
}

}  // namespace batchai::coll::test

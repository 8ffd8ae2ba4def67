// SPDX-License-Identifier: Apache-2.0
//
// Formats: how numbers are stored in memory, and the type in which they are computed. read()
// converts from the first to the second, write() back; write() rounds to the nearest, ties to even.
// Half and Brain are converted in integers, so that the bits do not depend on how the processor
// treats denormal numbers. The exception is F16C's instructions for Half, which give the same bits.
// (VCVTNEPS2BF16 would not: it treats denormal numbers as zero.) Only for the files that table.hpp
// names.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "collectives/reduce/vectors.hpp"

namespace batchai::coll {
namespace {

#if defined(__AVX512F__)
// A mask with all numbers of a vector. Intrinsics without a mask start from an uninitialised value,
// and GCC 12 warns of it.
constexpr __mmask16 kAll = 0xffff;
#endif

// A number of a built-in type.
template <class T>
struct Plain {
    using Stored = T;
    using Number = T;

    template <class Shape>
    static In<Shape, T> read(In<Shape, T> stored) {
        return stored;
    }
    template <class Shape>
    static In<Shape, T> write(In<Shape, T> value) {
        return value;
    }
};

struct Bool {
    using Stored = std::uint8_t;
    using Number = std::uint8_t;

    template <class Shape>
    static In<Shape, Number> read(In<Shape, Stored> stored) {
        using Value = In<Shape, Number>;
        return stored != 0 ? all<Value>(Number{1}) : Value{};
    }
    template <class Shape>
    static In<Shape, Stored> write(In<Shape, Number> value) {
        return value;
    }
};

// Converts 16 bits to 32 and back; upper halves are 0. Uses intrinsics where compilers need several
// times as many instructions for a vector conversion.
template <class Shape>
In<Shape, std::uint32_t> longer(In<Shape, std::uint16_t> bits) {
#if defined(__AVX512F__)
    if constexpr (Shape::kLanes == 16) {
        return reinterpret_cast<In<Shape, std::uint32_t>>(
            _mm512_maskz_cvtepu16_epi32(kAll, reinterpret_cast<__m256i>(bits)));
    }
#endif
#if defined(__AVX2__)
    if constexpr (Shape::kLanes == 8) {
        return reinterpret_cast<In<Shape, std::uint32_t>>(
            _mm256_cvtepu16_epi32(reinterpret_cast<__m128i>(bits)));
    }
#endif
    return Shape::template convert<std::uint32_t>(bits);
}

template <class Shape>
In<Shape, std::uint16_t> shorter(In<Shape, std::uint32_t> bits) {
#if defined(__AVX512F__)
    if constexpr (Shape::kLanes == 16) {
        return reinterpret_cast<In<Shape, std::uint16_t>>(
            _mm512_maskz_cvtepi32_epi16(kAll, reinterpret_cast<__m512i>(bits)));
    }
#endif
#if defined(__AVX2__)
    if constexpr (Shape::kLanes == 8) {
        const auto both = reinterpret_cast<__m256i>(bits);
        return reinterpret_cast<In<Shape, std::uint16_t>>(
            _mm_packus_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1)));
    }
#endif
    return Shape::template convert<std::uint16_t>(bits);
}

constexpr std::uint32_t kSign = 0x80000000u, kInfinity = 0x7f800000u;  // of a float32
constexpr int kMantissa = 23;  // bits of a float32's mantissa

// bfloat16: the upper half of a float32.
struct Brain {
    using Stored = std::uint16_t;
    using Number = float;

    template <class Shape>
    static In<Shape, float> read(In<Shape, Stored> stored) {
        return as<In<Shape, float>>(longer<Shape>(stored) << 16);
    }
    template <class Shape>
    static In<Shape, Stored> write(In<Shape, float> value) {
        using Bits = In<Shape, std::uint32_t>;
        const Bits bits = as<Bits>(value);
        const Bits rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
        const Bits quiet = (bits >> 16) | 0x40u;
        const Bits upper = is_nan<Shape>(bits) ? quiet : rounded;
        return shorter<Shape>(upper);
    }

    // Compared as signed numbers, because more instruction sets can compare these.
    template <class Shape>
    static auto is_nan(In<Shape, std::uint32_t> bits) {
        return as<In<Shape, std::int32_t>>(bits & ~kSign) > static_cast<std::int32_t>(kInfinity);
    }
};

// float16: IEEE 754's binary16, with exponents from -14 to 15 and 10 bits of mantissa.
struct Half {
    using Stored = std::uint16_t;
    using Number = float;

    template <class Shape>
    static In<Shape, float> read(In<Shape, Stored> stored) {
#if defined(__AVX512F__)
        if constexpr (Shape::kLanes == 16) {
            return reinterpret_cast<In<Shape, float>>(
                _mm512_maskz_cvtph_ps(kAll, reinterpret_cast<__m256i>(stored)));
        }
#endif
#if defined(__AVX2__) && defined(__F16C__)
        if constexpr (Shape::kLanes == 8) {
            return reinterpret_cast<In<Shape, float>>(
                _mm256_cvtph_ps(reinterpret_cast<__m128i>(stored)));
        }
#endif
        return read_bits<Shape>(longer<Shape>(stored));
    }

    template <class Shape>
    static In<Shape, Stored> write(In<Shape, float> value) {
#if defined(__AVX512F__)
        if constexpr (Shape::kLanes == 16) {
            return reinterpret_cast<In<Shape, Stored>>(_mm512_maskz_cvtps_ph(
                kAll, reinterpret_cast<__m512>(value), _MM_FROUND_TO_NEAREST_INT));
        }
#endif
#if defined(__AVX2__) && defined(__F16C__)
        if constexpr (Shape::kLanes == 8) {
            return reinterpret_cast<In<Shape, Stored>>(
                _mm256_cvtps_ph(reinterpret_cast<__m256>(value), _MM_FROUND_TO_NEAREST_INT));
        }
#endif
        return shorter<Shape>(write_bits<Shape>(as<In<Shape, std::uint32_t>>(value)));
    }

  private:
    static constexpr int kShift = kMantissa - 10;
    static constexpr std::uint32_t kBias = 127 - 15;  // difference of the exponents' biases

    template <class Shape>
    static In<Shape, float> read_bits(In<Shape, std::uint32_t> stored) {
        using Bits = In<Shape, std::uint32_t>;
        using Signed = In<Shape, std::int32_t>;
        using Value = In<Shape, float>;
        const Bits magnitude = (stored & 0x7fffu) << kShift;
        const Bits normal = magnitude + (kBias << kMantissa);
        // (2^-14 + x) - 2^-14, which is exact.
        constexpr std::uint32_t kLeast = (kBias + 1) << kMantissa;
        const Bits tiny = as<Bits>(as<Value>(magnitude + kLeast) - as<Value>(all<Bits>(kLeast)));
        const Bits special = magnitude | kInfinity;
        const Bits quiet = special | (1u << (kMantissa - 1));
        const Signed ordered = as<Signed>(magnitude);
        const Bits finite = ordered < (1 << kMantissa) ? tiny : normal;
        const Bits other = ordered > (31 << kMantissa) ? quiet : special;
        const Bits bits = ordered < (31 << kMantissa) ? finite : other;
        return as<Value>(bits | (stored & 0x8000u) << 16);
    }

    template <class Shape>
    static In<Shape, std::uint32_t> write_bits(In<Shape, std::uint32_t> bits) {
        using Bits = In<Shape, std::uint32_t>;
        using Signed = In<Shape, std::int32_t>;
        using Value = In<Shape, float>;
        const Bits magnitude = bits & ~kSign;
        const Signed ordered = as<Signed>(magnitude);
        // A carry out of the mantissa increments the exponent, possibly to infinity's.
        const Bits odd = (magnitude >> kShift) & 1u;
        const Bits normal = (magnitude - (kBias << kMantissa) + 0xfffu + odd) >> kShift;
        // The last bit of 1/2 is 2^-24, as in a denormal number, so the addition rounds.
        const Bits tiny = as<Bits>(as<Value>(magnitude) + 0.5f) - as<std::uint32_t>(0.5f);
        const Bits quiet = ((magnitude >> kShift) & 0x3ffu) | 0x7e00u;
        constexpr std::int32_t kLeast = (kBias + 1) << kMantissa;      // 2^-14
        constexpr std::int32_t kTooLarge = (kBias + 31) << kMantissa;  // 2^16
        const Bits finite = ordered < kLeast ? tiny : normal;
        const Bits number = ordered < kTooLarge ? finite : all<Bits>(0x7c00u);
        const Bits half = Brain::is_nan<Shape>(bits) ? quiet : number;
        return half | ((bits & kSign) >> 16);
    }
};

}  // namespace
}  // namespace batchai::coll

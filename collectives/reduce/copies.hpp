// SPDX-License-Identifier: Apache-2.0
//
// Table::copy and Table::stream for the instruction set for which the including file is compiled.
// Only for the files that table.hpp names.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "collectives/reduce/vectors.hpp"

namespace batchai::coll {
namespace {

#if defined(__x86_64__)

constexpr std::size_t kLine = 64;

// Copies one vector. The addresses need no alignment.
void copy_vector(unsigned char* to, const unsigned char* from) {
    Many<kVector>::Of<unsigned char> vector;
    __builtin_memcpy(&vector, from, kVector);
    __builtin_memcpy(to, &vector, kVector);
}

// The first and the last vector overlap the others, whose stores are aligned.
void copy(void* to, const void* from, std::size_t bytes) {
    auto* out = static_cast<unsigned char*>(to);
    const auto* in = static_cast<const unsigned char*>(from);
    if (bytes < 2 * kVector) {
        __builtin_memcpy(out, in, bytes);
        return;
    }
    copy_vector(out, in);
    const std::size_t last = bytes - kVector;
#pragma GCC unroll 4
    for (std::size_t at = kVector - reinterpret_cast<std::uintptr_t>(to) % kVector; at < last;
         at += kVector) {
        copy_vector(out + at, in + at);
    }
    copy_vector(out + last, in + last);
}

// Copies one cache line, so that it is written to memory as a whole. to: aligned to a cache line.
void stream_line(unsigned char* to, const unsigned char* from) {
#if defined(__AVX512F__)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_loadu_si512(from));
#else
    for (std::size_t at = 0; at < kLine; at += kVector) {
#if defined(__AVX2__)
        const __m256i part = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at));
        _mm256_stream_si256(reinterpret_cast<__m256i*>(to + at), part);
#else
        const __m128i part = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at));
        _mm_stream_si128(reinterpret_cast<__m128i*>(to + at), part);
#endif
    }
#endif
}

void stream(void* to, const void* from, std::size_t bytes) {
    auto* out = static_cast<unsigned char*>(to);
    const auto* in = static_cast<const unsigned char*>(from);
    const std::size_t before = -reinterpret_cast<std::uintptr_t>(to) % kLine;  // to a line
    if (bytes < before + kLine) {
        __builtin_memcpy(out, in, bytes);
        return;
    }
    __builtin_memcpy(out, in, before);
    std::size_t at = before;
    for (; bytes - at >= kLine; at += kLine) stream_line(out + at, in + at);
    __builtin_memcpy(out + at, in + at, bytes - at);
}

#else

void copy(void* to, const void* from, std::size_t bytes) {
    __builtin_memcpy(to, from, bytes);
}

void stream(void* to, const void* from, std::size_t bytes) {
    __builtin_memcpy(to, from, bytes);
}

#endif

}  // namespace
}  // namespace batchai::coll

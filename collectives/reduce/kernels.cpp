// SPDX-License-Identifier: Apache-2.0
#include "collectives/reduce/kernels.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "batchai/collectives.h"

namespace batchai::coll {
namespace {

// Signed overflow is undefined, unsigned wraps.
template <class T>
struct Wrapping {
    using type = T;
};
template <class T>
requires std::is_integral_v<T>
struct Wrapping<T> {
    using type = std::make_unsigned_t<T>;
};

struct Sum {
    template <class T>
    static T apply(T a, T b) {
        using W = typename Wrapping<T>::type;
        return static_cast<T>(static_cast<W>(a) + static_cast<W>(b));
    }
};

struct Product {
    template <class T>
    static T apply(T a, T b) {
        using W = typename Wrapping<T>::type;
        return static_cast<T>(static_cast<W>(a) * static_cast<W>(b));
    }
};

struct Min {
    template <class T>
    static T apply(T a, T b) {
        if constexpr (std::is_floating_point_v<T>) {
            return (a < b) | (a != a) ? a : b;  // b where b is NaN: the comparison is false
        } else {
            return b < a ? b : a;
        }
    }
};

struct Max {
    template <class T>
    static T apply(T a, T b) {
        if constexpr (std::is_floating_point_v<T>) {
            return (a > b) | (a != a) ? a : b;
        } else {
            return b > a ? b : a;
        }
    }
};

// No __restrict: out may be a or b. There is no dependence between elements.
template <class T, class Op>
void combine_two(T* out, const T* a, const T* b, std::size_t count) {
#pragma GCC ivdep
    for (std::size_t i = 0; i < count; ++i) out[i] = Op::apply(a[i], b[i]);
}

template <class T, class Op>
void combine(void* out, const void* const* in, int inputs, std::size_t count) {
    if (inputs == 1) {
        if (out != in[0]) std::memcpy(out, in[0], count * sizeof(T));
        return;
    }
    // In blocks that stay in the first-level cache while the inputs are added one after another.
    constexpr std::size_t kBlock = 8192 / sizeof(T);
    for (std::size_t at = 0; at < count; at += kBlock) {
        const std::size_t n = std::min(kBlock, count - at);
        T* block = static_cast<T*>(out) + at;
        const auto input = [&](int i) { return static_cast<const T*>(in[i]) + at; };
        combine_two<T, Op>(block, input(0), input(1), n);
        for (int i = 2; i < inputs; ++i) combine_two<T, Op>(block, block, input(i), n);
    }
}

template <class T>
void divide(void* data, std::size_t count, int ranks) {
    T* values = static_cast<T*>(data);
    for (std::size_t i = 0; i < count; ++i) values[i] /= static_cast<T>(ranks);
}

template <class T>
Reduction reduction(std::uint8_t op) {
    switch (op) {
        case BATCHAI_COLL_AVERAGE:
            return {sizeof(T), combine<T, Sum>, divide<T>};
        case BATCHAI_COLL_MIN:
            return {sizeof(T), combine<T, Min>, nullptr};
        case BATCHAI_COLL_MAX:
            return {sizeof(T), combine<T, Max>, nullptr};
        case BATCHAI_COLL_PRODUCT:
            return {sizeof(T), combine<T, Product>, nullptr};
        default:
            return {sizeof(T), combine<T, Sum>, nullptr};
    }
}

}  // namespace

Reduction reduction_of(std::uint8_t type, std::uint8_t op) {
    switch (type) {
        case BATCHAI_COLL_FLOAT64:
            return reduction<double>(op);
        case BATCHAI_COLL_INT32:
            return reduction<std::int32_t>(op);
        case BATCHAI_COLL_INT64:
            return reduction<std::int64_t>(op);
        default:
            return reduction<float>(op);
    }
}

}  // namespace batchai::coll

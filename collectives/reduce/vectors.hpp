// SPDX-License-Identifier: Apache-2.0
//
// Shapes: how many numbers a loop takes at once. Many is a vector register of the instruction set
// for which the including file is compiled. It uses the compiler's vector types, whose operators
// work on each number separately. One is for the remaining numbers. So a computation is written
// once, for values of type In<Shape, Number>. Only for the files that table.hpp names.
#pragma once

#include <cstddef>
#include <cstdint>

namespace batchai::coll {
namespace {

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
constexpr std::size_t kVector = 64;  // bytes
#elif defined(__AVX2__) && defined(__F16C__)
constexpr std::size_t kVector = 32;
#else
constexpr std::size_t kVector = 16;
#endif

struct One {
    static constexpr std::size_t kLanes = 1;

    template <class T>
    using Of = T;

    template <class To, class From>
    static To convert(From value) {
        return static_cast<To>(value);
    }
};

template <std::size_t Lanes>
struct Many {
    static constexpr std::size_t kLanes = Lanes;

    template <class T>
    struct Vector {
        typedef T type __attribute__((vector_size(Lanes * sizeof(T))));
    };
    template <class T>
    using Of = typename Vector<T>::type;

    template <class To, class From>
    static Of<To> convert(From value) {
        return __builtin_convertvector(value, Of<To>);
    }
};

template <class Shape, class T>
using In = typename Shape::template Of<T>;

// The same bits, as another type.
template <class To, class From>
To as(From from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}

// A vector with the same value in all places.
template <class Value, class T>
Value all(T value) {
    return Value{} + value;
}

}  // namespace
}  // namespace batchai::coll

// SPDX-License-Identifier: Apache-2.0
//
// The kernels' loops and their table, for the instruction set for which the including file is
// compiled. A loop takes several vectors of numbers, combines them over all inputs in registers and
// stores them. So it passes over the memory once, whatever the number of inputs. Only for the files
// that table.hpp names.
#pragma once

#include <type_traits>

#include "collectives/reduce/formats.hpp"
#include "collectives/reduce/table.hpp"

namespace batchai::coll {
namespace {

// The type for integer arithmetic: signed overflow is undefined, unsigned wraps.
template <class T>
struct Wrapping {
    using type = T;
};
template <class T>
requires std::is_integral_v<T>
struct Wrapping<T> {
    using type = std::make_unsigned_t<T>;
};

template <class Number>
struct Sum {
    template <class Shape>
    static In<Shape, Number> apply(In<Shape, Number> a, In<Shape, Number> b) {
        using Value = In<Shape, typename Wrapping<Number>::type>;
        return as<In<Shape, Number>>(static_cast<Value>(as<Value>(a) + as<Value>(b)));
    }
};

template <class Number>
struct Product {
    template <class Shape>
    static In<Shape, Number> apply(In<Shape, Number> a, In<Shape, Number> b) {
        using Value = In<Shape, typename Wrapping<Number>::type>;
        return as<In<Shape, Number>>(static_cast<Value>(as<Value>(a) * as<Value>(b)));
    }
};

template <class Number>
struct Min {
    template <class Shape>
    static In<Shape, Number> apply(In<Shape, Number> a, In<Shape, Number> b) {
        if constexpr (std::is_floating_point_v<Number>) {
            return ((a < b) | (a != a)) ? a : b;  // if b is NaN, the comparison is false: b
        } else {
            return b < a ? b : a;
        }
    }
};

template <class Number>
struct Max {
    template <class Shape>
    static In<Shape, Number> apply(In<Shape, Number> a, In<Shape, Number> b) {
        if constexpr (std::is_floating_point_v<Number>) {
            return ((a > b) | (a != a)) ? a : b;
        } else {
            return b > a ? b : a;
        }
    }
};

template <class Number>
struct Or {
    template <class Shape>
    static In<Shape, Number> apply(In<Shape, Number> a, In<Shape, Number> b) {
        return a | b;
    }
};

template <class Number>
struct And {
    template <class Shape>
    static In<Shape, Number> apply(In<Shape, Number> a, In<Shape, Number> b) {
        return a & b;
    }
};

// The scaling of inputs and results: none, or a Scale.
struct Unscaled {
    template <class Shape, class Value>
    Value begin(Value value) const {
        return value;
    }
    template <class Shape, class Value>
    Value end(Value value) const {
        return value;
    }
};

template <class Number>
struct Scaled {
    explicit Scaled(const Scale& scale)
        : before(static_cast<Number>(scale.before)),
          after(static_cast<Number>(scale.after)),
          divisor(static_cast<Number>(scale.divisor)),
          inverse(static_cast<Number>(1) / divisor),
          divides((scale.divisor & (scale.divisor - 1)) != 0) {}

    template <class Shape, class Value>
    Value begin(Value value) const {
        return value * before;
    }
    template <class Shape, class Value>
    Value end(Value value) const {
        return (divides ? value / divisor : value * inverse) * after;
    }

    Number before, after, divisor;
    Number inverse;  // if divisor is a power of two: value * inverse is the quotient
    bool divides;    // divisor is not a power of two
};

// Divides one by one: processors have no instruction that divides a vector of integers.
template <class T>
void divide(void* values, std::size_t count, int divisor) {
    char* at = static_cast<char*>(values);
    for (std::size_t i = 0; i < count; ++i, at += sizeof(T)) {
        T value;
        __builtin_memcpy(&value, at, sizeof value);
        value = static_cast<T>(value / divisor);
        __builtin_memcpy(at, &value, sizeof value);
    }
}

template <class From, class To, class Op, class Factors>
struct Loop {
    using Number = typename From::Number;
    static_assert(std::is_same_v<Number, typename To::Number>);

    void* out;
    const void* const* in;
    int inputs;
    Factors factors;

    void run(std::size_t count) const {
        using Vector = Many<kVector / sizeof(Number)>;
        constexpr std::size_t kLanes = Vector::kLanes;
        constexpr int kTogether = 4;
        std::size_t at = 0;
        for (; count - at >= kTogether * kLanes; at += kTogether * kLanes) {
            step<Vector, kTogether>(at);
        }
        for (; count - at >= kLanes; at += kLanes) step<Vector, 1>(at);
        for (; at < count; ++at) step<One, 1>(at);
    }

    // Combines `Together` vectors of a shape, from `at` on. It reads all inputs before it writes.
    template <class Shape, int Together>
    void step(std::size_t at) const {
        In<Shape, Number> values[Together];
        for (int i = 0; i < Together; ++i) values[i] = read<Shape>(in[0], at + i * Shape::kLanes);
        for (int input = 1; input < inputs; ++input) {
            for (int i = 0; i < Together; ++i) {
                values[i] = Op::template apply<Shape>(
                    values[i], read<Shape>(in[input], at + i * Shape::kLanes));
            }
        }
        for (int i = 0; i < Together; ++i) write<Shape>(values[i], at + i * Shape::kLanes);
    }

    template <class Shape>
    In<Shape, Number> read(const void* from, std::size_t at) const {
        In<Shape, typename From::Stored> stored;
        const char* place = static_cast<const char*>(from) + at * sizeof(typename From::Stored);
        __builtin_memcpy(&stored, place, sizeof stored);
        return factors.template begin<Shape>(From::template read<Shape>(stored));
    }

    template <class Shape>
    void write(In<Shape, Number> value, std::size_t at) const {
        const auto stored = To::template write<Shape>(factors.template end<Shape>(value));
        char* place = static_cast<char*>(out) + at * sizeof(typename To::Stored);
        __builtin_memcpy(place, &stored, sizeof stored);
    }
};

template <class From, class To, class Op>
void kernel(void* out, const void* const* in, int inputs, std::size_t count, const Scale& scale) {
    using Number = typename From::Number;
    if (scale.before == 1 && scale.after == 1 && scale.divisor == 1) {
        Loop<From, To, Op, Unscaled>{out, in, inputs, {}}.run(count);
    } else if constexpr (std::is_floating_point_v<Number>) {
        Loop<From, To, Op, Scaled<Number>>{out, in, inputs, Scaled<Number>(scale)}.run(count);
    } else {
        Loop<From, To, Op, Unscaled>{out, in, inputs, {}}.run(count);
        divide<Number>(out, count, scale.divisor);
    }
}

template <class Format, class Op>
constexpr Reduction reduction() {
    using Wide = std::conditional_t<std::is_floating_point_v<typename Format::Number>,
                                    Plain<typename Format::Number>, Format>;
    return {sizeof(typename Format::Stored), sizeof(typename Wide::Stored),
            kernel<Format, Format, Op>,      kernel<Format, Wide, Op>,
            kernel<Wide, Wide, Op>,          kernel<Wide, Format, Op>};
}

// The kernels of one type, in the order of batchai_coll_op.
template <class Format>
constexpr Table::Row row() {
    using Number = typename Format::Number;
    return {{reduction<Format, Sum<Number>>(), reduction<Format, Sum<Number>>(),
             reduction<Format, Min<Number>>(), reduction<Format, Max<Number>>(),
             reduction<Format, Product<Number>>()}};
}

constexpr Table::Row bool_row() {
    constexpr auto kOr = reduction<Bool, Or<std::uint8_t>>();
    constexpr auto kAnd = reduction<Bool, And<std::uint8_t>>();
    return {{kOr, kOr, kAnd, kOr, kAnd}};
}

// All kernels, in the order of batchai_coll_type.
constexpr Table table(Copy copy, Copy stream) {
    return {{row<Plain<float>>(), row<Plain<double>>(), row<Plain<std::int32_t>>(),
             row<Plain<std::int64_t>>(), row<Plain<std::uint8_t>>(), row<Plain<std::int8_t>>(),
             row<Half>(), row<Brain>(), bool_row()},
            copy,
            stream};
}

}  // namespace
}  // namespace batchai::coll

// SPDX-License-Identifier: Apache-2.0
//
// Numbers of 16 bits: all of them, and where they are rounded.
#include <boost/test/unit_test.hpp>
#include <vector>

#include "collectives/reduce/kernels.hpp"
#include "numbers.hpp"

using namespace batchai::coll;
using namespace batchai::coll::test;

namespace {

template <class Type>
Reduction sum(InstructionSet set) {
    const Reduction reduction = reduction_of(Type::kType, BATCHAI_COLL_SUM, set);
    BOOST_REQUIRE(reduction.wide == sizeof(float));
    return reduction;
}

std::vector<std::uint16_t> all_numbers() {
    std::vector<std::uint16_t> numbers;
    for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
        numbers.push_back(static_cast<std::uint16_t>(bits));
    }
    return numbers;
}

std::vector<std::uint16_t> finished(const Reduction& reduction, const std::vector<float>& wide) {
    std::vector<std::uint16_t> out(wide.size());
    const void* inputs[] = {wide.data()};
    reduction.finish(out.data(), inputs, 1, wide.size(), {});
    return out;
}

// Of both types, on all instruction sets that run here.
template <class Body>
void for_each_kind(Body body) {
    for (const auto set :
         {InstructionSet::portable, InstructionSet::avx2, InstructionSet::avx512}) {
        if (runs_here(set)) for_each_short([&](auto type) { body(type, set); });
    }
}

std::uint32_t bits_of(float number) {
    return std::bit_cast<std::uint32_t>(number);
}
std::uint32_t bits_of(std::uint16_t number) {
    return number;
}

// So that a failure is one line.
template <class T>
void expect_equal(const std::vector<T>& result, const std::vector<T>& wanted) {
    BOOST_REQUIRE(result.size() == wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (bits_of(result[i]) == bits_of(wanted[i])) continue;
        BOOST_ERROR("number " << i << " is " << result[i] << " instead of " << wanted[i]);
        return;
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(short_floats)

BOOST_AUTO_TEST_CASE(every_number_is_widened_exactly) {
    for_each_kind([](auto type, InstructionSet set) {
        using Type = decltype(type);
        const auto numbers = all_numbers();
        std::vector<float> wide(numbers.size()), wanted;
        const void* inputs[] = {numbers.data()};
        sum<Type>(set).widen(wide.data(), inputs, 1, wide.size(), {});
        for (const auto number : numbers) {
            // A bfloat16 only becomes longer; it is computing with it that makes a NaN quiet.
            wanted.push_back(std::is_same_v<Type, Bfloat16>
                                 ? std::bit_cast<float>(std::uint32_t{number} << 16)
                                 : Type::read(number));
        }
        expect_equal(wide, wanted);
    });
}

BOOST_AUTO_TEST_CASE(every_number_plus_zero_is_itself) {
    for_each_kind([](auto type, InstructionSet set) {
        using Type = decltype(type);
        const auto numbers = all_numbers();
        const std::vector<std::uint16_t> zeros(numbers.size(), 0x8000);  // -0: -0 + -0 is -0
        std::vector<std::uint16_t> out(numbers.size()), wanted;
        const void* inputs[] = {numbers.data(), zeros.data()};
        sum<Type>(set).combine(out.data(), inputs, 2, out.size(), {});
        for (const auto number : numbers) {
            const bool nan = std::isnan(Type::read(number));
            wanted.push_back(nan ? number | Type::kQuiet : number);
        }
        expect_equal(out, wanted);
        sum<Type>(set).combine(out.data(), inputs, 1, out.size(), {});
        expect_equal(out, wanted);
    });
}

// Between every two neighbours: their middle, and the least more and less.
BOOST_AUTO_TEST_CASE(rounding_is_to_the_nearest_and_ties_to_even) {
    for_each_kind([](auto type, InstructionSet set) {
        using Type = decltype(type);
        std::vector<float> wide;
        std::vector<std::uint16_t> wanted;
        for (std::uint16_t lower = 0; lower < Type::kInfinity; ++lower) {
            const std::uint16_t upper = lower + 1;
            const std::uint16_t even = lower % 2 == 0 ? lower : upper;
            // Infinity stands for the number after the greatest.
            const double next = upper == Type::kInfinity
                                    ? 2.0 * Type::read(lower) - Type::read(lower - 1)
                                    : Type::read(upper);
            const auto middle = static_cast<float>((Type::read(lower) + next) / 2);
            for (const float sign : {1.0f, -1.0f}) {
                const std::uint16_t bit = sign < 0 ? 0x8000 : 0;
                wide.insert(wide.end(), {sign * std::nextafter(middle, 0.0f), sign * middle,
                                         sign * std::nextafter(middle, INFINITY)});
                for (const auto number : {lower, even, upper}) wanted.push_back(number | bit);
            }
        }
        expect_equal(finished(sum<Type>(set), wide), wanted);
        std::vector<std::uint16_t> reference;
        for (const float value : wide) reference.push_back(Type::write(value));
        expect_equal(reference, wanted);
    });
}

BOOST_AUTO_TEST_CASE(values_out_of_range_become_infinite_or_zero) {
    for_each_kind([](auto type, InstructionSet set) {
        using Type = decltype(type);
        std::vector<float> wide;
        for (const float size : {1e-45f, 1e-40f, 1e-30f, 1e-8f, 65519.9f, 65520.0f, 65536.0f, 1e5f,
                                 1e30f, 3.4e38f, INFINITY}) {
            wide.insert(wide.end(), {size, -size});
        }
        for (const std::uint32_t bits : {0x7f800001u, 0x7fc00000u, 0xff801fffu, 0xffffffffu}) {
            wide.push_back(std::bit_cast<float>(bits));
        }
        std::vector<std::uint16_t> wanted;
        for (const float value : wide) wanted.push_back(Type::write(value));
        expect_equal(finished(sum<Type>(set), wide), wanted);
    });
}

BOOST_AUTO_TEST_CASE(a_sum_is_rounded_once) {
    for_each_kind([](auto type, InstructionSet set) {
        using Type = decltype(type);
        // Half of 1's last place, which rounding would take away each time.
        const std::uint16_t one = Type::write(1);
        const auto last = Type::read(one + 1) - 1;
        const std::vector<std::uint16_t> first(50, one), small(50, Type::write(last / 2));
        for (const int more : {1, 2, 8, 32}) {
            std::vector<const void*> inputs = {first.data()};
            inputs.resize(static_cast<std::size_t>(more) + 1, small.data());
            std::vector<std::uint16_t> out(50);
            sum<Type>(set).combine(out.data(), inputs.data(), more + 1, 50, {});
            const auto steps = static_cast<std::uint16_t>(more / 2);
            expect_equal(out, std::vector<std::uint16_t>(50, one + steps));
        }
        // A third of them, divided before it is rounded.
        const std::vector<const void*> inputs = {first.data(), small.data(), small.data()};
        std::uint16_t third = 0;
        sum<Type>(set).combine(&third, inputs.data(), 3, 1, {1, 1, 3});
        BOOST_TEST(third == Type::write((1 + last) / 3));
    });
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: Apache-2.0
#include "collectives/reduce/kernels.hpp"

#include <boost/test/unit_test.hpp>
#include <random>
#include <vector>

#include "numbers.hpp"

using namespace batchai::coll;
using namespace batchai::coll::test;

namespace {

constexpr batchai_coll_op kOps[] = {BATCHAI_COLL_SUM, BATCHAI_COLL_MIN, BATCHAI_COLL_MAX,
                                    BATCHAI_COLL_PRODUCT};

std::vector<InstructionSet> sets() {
    std::vector<InstructionSet> result;
    for (const auto set :
         {InstructionSet::portable, InstructionSet::avx2, InstructionSet::avx512}) {
        if (runs_here(set)) result.push_back(set);
    }
    return result;
}

template <class Type>
using Array = std::vector<typename Type::Stored>;

// Any bits, and small numbers, of which sums and products are numbers, too.
template <class Type>
Array<Type> random_numbers(std::size_t count, unsigned seed) {
    std::mt19937_64 random(seed);
    Array<Type> numbers(count);
    for (auto& number : numbers) {
        const std::uint64_t bits = random();
        if (bits >> 62 != 0) {
            number = Type::write(static_cast<typename Type::Value>(static_cast<int>(bits % 100)));
        } else {
            std::memcpy(&number, &bits, sizeof number);
        }
    }
    return numbers;
}

template <class Type>
Array<Type> expected(batchai_coll_op op, const std::vector<Array<Type>>& inputs,
                     const Scale& scale) {
    using Value = typename Type::Value;
    const auto times = [](Value value, double factor) {
        if constexpr (!std::is_floating_point_v<Value>) return value;
        return static_cast<Value>(value * static_cast<Value>(factor));
    };
    Array<Type> out;
    for (std::size_t i = 0; i < inputs[0].size(); ++i) {
        Value value = times(Type::read(inputs[0][i]), scale.before);
        for (std::size_t r = 1; r < inputs.size(); ++r) {
            value = apply<Type>(op, value, times(Type::read(inputs[r][i]), scale.before));
        }
        if (scale.divisor != 1) {
            if constexpr (std::is_floating_point_v<Value>) {
                value /= static_cast<Value>(scale.divisor);
            } else {
                value = static_cast<Value>(value / scale.divisor);
            }
        }
        out.push_back(Type::write(times(value, scale.after)));
    }
    return out;
}

// Numbers at any address.
template <class Type>
class Shifted {
  public:
    Shifted(const Array<Type>& numbers, std::size_t by)
        : bytes_(numbers.size() * kSize + 64), by_(by) {
        if (!numbers.empty()) std::memcpy(data(), numbers.data(), numbers.size() * kSize);
    }
    void* data() { return bytes_.data() + by_; }
    typename Type::Stored operator[](std::size_t i) {
        typename Type::Stored number;
        std::memcpy(&number, bytes_.data() + by_ + i * kSize, kSize);
        return number;
    }

  private:
    static constexpr std::size_t kSize = sizeof(typename Type::Stored);
    std::vector<char> bytes_;
    std::size_t by_;
};

// out: the input to work in place on; -1: none.
template <class Type>
void check(InstructionSet set, batchai_coll_op op, const std::vector<Array<Type>>& inputs,
           const Scale& scale = {}, std::size_t shift = 0, int out = -1) {
    const Reduction reduction = reduction_of(Type::kType, op, set);
    BOOST_REQUIRE(reduction.element == sizeof(typename Type::Stored));
    std::vector<Shifted<Type>> memory;
    for (const auto& input : inputs) memory.emplace_back(input, shift);
    std::vector<const void*> pointers;
    for (auto& input : memory) pointers.push_back(input.data());
    const std::size_t count = inputs[0].size();
    Shifted<Type> apart(Array<Type>(count + 1, typename Type::Stored{77}), 64 - shift);
    Shifted<Type>& result = out < 0 ? apart : memory[out];
    reduction.combine(result.data(), pointers.data(), static_cast<int>(pointers.size()), count,
                      scale);
    const auto wanted = expected<Type>(op, inputs, scale);
    for (std::size_t i = 0; i < count; ++i) {
        if (same<Type>(result[i], wanted[i])) continue;
        BOOST_ERROR("type " << Type::kType << " op " << op << " set " << static_cast<int>(set)
                            << " inputs " << inputs.size() << " count " << count << ": number " << i
                            << " is " << +result[i] << " instead of " << +wanted[i]);
        return;
    }
    if (out < 0) BOOST_TEST(apart[count] == typename Type::Stored{77});
}

template <class Type>
std::vector<Array<Type>> random_inputs(int inputs, std::size_t count) {
    std::vector<Array<Type>> result;
    for (int r = 0; r < inputs; ++r) {
        result.push_back(random_numbers<Type>(count, static_cast<unsigned>(r) + 1));
    }
    return result;
}

template <class T>
T combined(batchai_coll_type type, batchai_coll_op op, const std::vector<T>& inputs,
           const Scale& scale = {}) {
    std::vector<const void*> pointers;
    for (const T& input : inputs) pointers.push_back(&input);
    T out{};
    reduction_of(type, op).combine(&out, pointers.data(), static_cast<int>(inputs.size()), 1,
                                   scale);
    return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernels)

BOOST_AUTO_TEST_CASE(every_type_and_operation_is_right_for_any_count_and_place) {
    for_each_type([](auto type) {
        using Type = decltype(type);
        for (const auto set : sets()) {
            for (const auto op : kOps) {
                for (std::size_t count = 0; count <= 70; ++count) {
                    check<Type>(set, op, random_inputs<Type>(2, count), {}, count % 9);
                }
                for (const int inputs : {1, 3, 4, 9, 17}) {
                    check<Type>(set, op, random_inputs<Type>(inputs, 1003));
                }
            }
        }
    });
}

BOOST_AUTO_TEST_CASE(the_result_may_replace_an_input) {
    for_each_type([](auto type) {
        using Type = decltype(type);
        for (const auto set : sets()) {
            for (int out = 0; out < 3; ++out) {
                check<Type>(set, BATCHAI_COLL_SUM, random_inputs<Type>(3, 777), {}, 1, out);
            }
        }
    });
}

BOOST_AUTO_TEST_CASE(floats_are_scaled_before_and_after) {
    for_each_float([](auto type) {
        using Type = decltype(type);
        const Scale scales[] = {{0.5, 1, 1}, {1, 3, 1}, {0.3, 0.7, 1}, {1, 1, 3},
                                {1, 1, 8},   {1, 7, 6}, {0, 1, 1},     {3, 5, 4}};
        for (const auto set : sets()) {
            for (const Scale& scale : scales) {
                for (const auto op : kOps) {
                    check<Type>(set, op, random_inputs<Type>(3, 1003), scale);
                }
            }
        }
    });
}

BOOST_AUTO_TEST_CASE(averages_of_integers_truncate_toward_zero) {
    BOOST_TEST(combined<int>(BATCHAI_COLL_INT32, BATCHAI_COLL_AVERAGE, {-5, 3, 1}, {1, 1, 3}) == 0);
    BOOST_TEST(combined<int>(BATCHAI_COLL_INT32, BATCHAI_COLL_AVERAGE, {-5, 0}, {1, 1, 2}) == -2);
    BOOST_TEST(+combined<std::int8_t>(BATCHAI_COLL_INT8, BATCHAI_COLL_AVERAGE, {-100, 0},
                                      {1, 1, 200}) == 0);
    for (const auto set : sets()) {
        check<Int8>(set, BATCHAI_COLL_AVERAGE, random_inputs<Int8>(2, 100), {1, 1, 3});
        check<Uint8>(set, BATCHAI_COLL_AVERAGE, random_inputs<Uint8>(2, 100), {1, 1, 3});
        check<Int32>(set, BATCHAI_COLL_AVERAGE, random_inputs<Int32>(2, 100), {1, 1, 3});
        check<Int64>(set, BATCHAI_COLL_AVERAGE, random_inputs<Int64>(2, 100), {1, 1, 3});
    }
}

BOOST_AUTO_TEST_CASE(integers_wrap_around) {
    const auto most = std::numeric_limits<std::int64_t>::max();
    BOOST_TEST(combined<std::int64_t>(BATCHAI_COLL_INT64, BATCHAI_COLL_SUM, {most, 1}) ==
               std::numeric_limits<std::int64_t>::min());
    BOOST_TEST(combined<std::int64_t>(BATCHAI_COLL_INT64, BATCHAI_COLL_PRODUCT, {most, 2}) == -2);
    BOOST_TEST(+combined<std::uint8_t>(BATCHAI_COLL_UINT8, BATCHAI_COLL_SUM, {200, 100}) == 44);
    BOOST_TEST(+combined<std::int8_t>(BATCHAI_COLL_INT8, BATCHAI_COLL_SUM, {100, 100}) == -56);
}

BOOST_AUTO_TEST_CASE(any_byte_but_0_is_true) {
    const auto of = [](batchai_coll_op op, std::uint8_t a, std::uint8_t b) {
        return +combined<std::uint8_t>(BATCHAI_COLL_BOOL, op, {a, b});
    };
    for (const auto op : {BATCHAI_COLL_SUM, BATCHAI_COLL_MAX}) {
        BOOST_TEST(of(op, 0, 0) == 0);
        BOOST_TEST(of(op, 0, 8) == 1);
        BOOST_TEST(of(op, 1, 1) == 1);
    }
    for (const auto op : {BATCHAI_COLL_PRODUCT, BATCHAI_COLL_MIN}) {
        BOOST_TEST(of(op, 1, 0) == 0);
        BOOST_TEST(of(op, 1, 2) == 1);
    }
    BOOST_TEST(+combined<std::uint8_t>(BATCHAI_COLL_BOOL, BATCHAI_COLL_MIN, {255}) == 1);
}

BOOST_AUTO_TEST_CASE(a_nan_is_not_lost) {
    for_each_float([](auto type) {
        using Type = decltype(type);
        const auto nan = Type::write(std::numeric_limits<typename Type::Value>::quiet_NaN());
        const Array<Type> with(40, nan), without(40, Type::write(2));
        for (const auto set : sets()) {
            for (const auto op : kOps) {
                const auto result = [&](const Array<Type>& a, const Array<Type>& b) {
                    const void* inputs[] = {a.data(), b.data()};
                    Array<Type> out(40);
                    reduction_of(Type::kType, op, set).combine(out.data(), inputs, 2, 40, {});
                    return out;
                };
                for (const auto number : result(with, without)) {
                    BOOST_TEST(std::isnan(Type::read(number)));
                }
                for (const auto number : result(without, with)) {
                    BOOST_TEST(std::isnan(Type::read(number)));
                }
            }
        }
    });
}

BOOST_AUTO_TEST_CASE(the_order_of_inputs_is_the_order_of_additions) {
    // In double, 1e16 + 1 is 1e16.
    const auto sum = [](const std::vector<double>& inputs) {
        return combined<double>(BATCHAI_COLL_FLOAT64, BATCHAI_COLL_SUM, inputs);
    };
    BOOST_TEST(sum({1e16, 1.0, -1e16}) == 0.0);
    BOOST_TEST(sum({1e16, -1e16, 1.0}) == 1.0);
}

BOOST_AUTO_TEST_SUITE_END()

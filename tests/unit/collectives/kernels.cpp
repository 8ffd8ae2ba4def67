// SPDX-License-Identifier: Apache-2.0
#include "collectives/reduce/kernels.hpp"

#include <batchai/collectives.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <vector>

using namespace batchai::coll;

namespace {

template <class T>
std::vector<T> combined(batchai_coll_type type, batchai_coll_op op,
                        const std::vector<std::vector<T>>& inputs) {
    const Reduction reduction = reduction_of(type, op);
    BOOST_TEST(reduction.element == sizeof(T));
    std::vector<const void*> pointers;
    for (const auto& input : inputs) pointers.push_back(input.data());
    std::vector<T> out(inputs[0].size());
    reduction.combine(out.data(), pointers.data(), static_cast<int>(inputs.size()), out.size());
    if (reduction.divide != nullptr)
        reduction.divide(out.data(), out.size(), static_cast<int>(inputs.size()));
    return out;
}

const float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

BOOST_AUTO_TEST_SUITE(kernels)

BOOST_AUTO_TEST_CASE(operations_do_what_they_are_named_for) {
    const std::vector<std::vector<int>> inputs = {{1, -5, 7}, {2, 3, 7}, {-6, 1, 2}};
    const auto of = [&](batchai_coll_op op) { return combined(BATCHAI_COLL_INT32, op, inputs); };
    BOOST_TEST((of(BATCHAI_COLL_SUM) == std::vector{-3, -1, 16}));
    BOOST_TEST((of(BATCHAI_COLL_AVERAGE) == std::vector{-1, 0, 5}));
    BOOST_TEST((of(BATCHAI_COLL_MIN) == std::vector{-6, -5, 2}));
    BOOST_TEST((of(BATCHAI_COLL_MAX) == std::vector{2, 3, 7}));
    BOOST_TEST((of(BATCHAI_COLL_PRODUCT) == std::vector{-12, -15, 98}));
}

BOOST_AUTO_TEST_CASE(integers_wrap_around) {
    const auto most = std::numeric_limits<std::int64_t>::max();
    const auto sum = combined<std::int64_t>(BATCHAI_COLL_INT64, BATCHAI_COLL_SUM, {{most}, {1}});
    BOOST_TEST(sum[0] == std::numeric_limits<std::int64_t>::min());
    const auto product =
        combined<std::int64_t>(BATCHAI_COLL_INT64, BATCHAI_COLL_PRODUCT, {{most}, {2}});
    BOOST_TEST(product[0] == -2);
}

BOOST_AUTO_TEST_CASE(a_nan_is_not_lost) {
    for (const auto op : {BATCHAI_COLL_MIN, BATCHAI_COLL_MAX, BATCHAI_COLL_SUM}) {
        const auto first = combined<float>(BATCHAI_COLL_FLOAT32, op, {{kNan}, {1}, {2}});
        const auto last = combined<float>(BATCHAI_COLL_FLOAT32, op, {{1}, {2}, {kNan}});
        BOOST_TEST(std::isnan(first[0]));
        BOOST_TEST(std::isnan(last[0]));
    }
}

BOOST_AUTO_TEST_CASE(the_order_of_inputs_is_the_order_of_additions) {
    // In double, 1e16 + 1 is 1e16.
    const auto sum =
        combined<double>(BATCHAI_COLL_FLOAT64, BATCHAI_COLL_SUM, {{1e16}, {1.0}, {-1e16}});
    BOOST_TEST(sum[0] == 0.0);
    const auto other =
        combined<double>(BATCHAI_COLL_FLOAT64, BATCHAI_COLL_SUM, {{1e16}, {-1e16}, {1.0}});
    BOOST_TEST(other[0] == 1.0);
}

BOOST_AUTO_TEST_SUITE_END()

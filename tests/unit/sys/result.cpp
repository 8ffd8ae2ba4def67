// SPDX-License-Identifier: Apache-2.0
#include "sys/result.hpp"

#include <boost/test/unit_test.hpp>
#include <memory>

using namespace batchai::sys;

namespace {
Result<int> half(int number) {
    if (number % 2 != 0) return Error{"odd"};
    return number / 2;
}
}  // namespace

BOOST_AUTO_TEST_CASE(holds_a_value_or_an_error) {
    BOOST_TEST(half(4).has_value());
    BOOST_TEST(*half(4) == 2);
    BOOST_TEST(!half(3));
    BOOST_TEST(half(3).error().message == "odd");
}

BOOST_AUTO_TEST_CASE(an_error_is_told_from_the_outside_in) {
    const Error error = errno_error("/etc/x", ENOENT);
    BOOST_TEST(error.in("site policy").message == "site policy: /etc/x: No such file or directory");
}

BOOST_AUTO_TEST_CASE(hands_over_what_cannot_be_copied) {
    Result<std::unique_ptr<int>> result(std::make_unique<int>(3));
    const std::unique_ptr<int> taken = *std::move(result);
    BOOST_TEST(*taken == 3);
}

BOOST_AUTO_TEST_CASE(may_be_without_a_value) {
    BOOST_TEST(Result<void>().has_value());
    BOOST_TEST(!Result<void>(Error{"no"}).has_value());
}

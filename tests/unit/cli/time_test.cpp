// SPDX-License-Identifier: Apache-2.0
#include "cli/output/time_text.hpp"

#include <boost/test/unit_test.hpp>

namespace batchai::cli {

BOOST_AUTO_TEST_SUITE(time_text)

BOOST_AUTO_TEST_CASE(is_the_services) {
    const double time = 1528850147.573;
    BOOST_TEST(iso_time(time) == "2018-06-13T00:35:47.573000+00:00");
    BOOST_TEST(iso_seconds(time) == "2018-06-13T00:35:47+00:00");
    BOOST_TEST(plain_time(time) == "2018-06-13 00:35:47.573000+00:00");
}

BOOST_AUTO_TEST_CASE(a_duration_has_pythons_form) {
    BOOST_TEST(duration_text(83.5) == "0:01:23.500000");
    BOOST_TEST(duration_text(3600) == "1:00:00");
    BOOST_TEST(duration_text(7 * 86400) == "7 days, 0:00:00");
    BOOST_TEST(duration_text(86400 + 61) == "1 day, 0:01:01");
    BOOST_TEST(duration_text(-1) == "0:00:00");
}

BOOST_AUTO_TEST_CASE(an_age_is_a_number_and_a_unit) {
    const auto seconds = [](const char* text) { return parse_age(text).value_or(-1); };
    BOOST_TEST(seconds("90s") == 90);
    BOOST_TEST(seconds("30m") == 1800);
    BOOST_TEST(seconds("1.5h") == 5400);
    BOOST_TEST(seconds("7d") == 7 * 86400);
    BOOST_TEST(seconds("2w") == 14 * 86400);
    for (const char* text : {"", "7", "d", "0d", "-1d", "7x", "7dd", "7 d", "infd", "nand"})
        BOOST_TEST(!parse_age(text), text);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace batchai::cli

// SPDX-License-Identifier: Apache-2.0
#include "job/number.hpp"

#include <boost/test/unit_test.hpp>

using namespace batchai::job;

BOOST_AUTO_TEST_SUITE(number)

BOOST_AUTO_TEST_CASE(numbers_of_jobs_are_read_as_slurm_prints_them) {
    for (const char* text : {"26", "26_0", "26_31", "27+0", "27+1"})
        BOOST_TEST(parse_number(text).value_or(Number{}).text() == text);
    for (const char* text : {"", "0", "-1", "x", "26_", "_3", "26_[3-5]", "26.0", "26_3_1", "1; rm",
                             "99999999999999999999"})
        BOOST_TEST(!parse_number(text), text);
    BOOST_TEST(Number{}.text() == "");
    BOOST_TEST(!Number::of_job(0));
}

BOOST_AUTO_TEST_SUITE_END()

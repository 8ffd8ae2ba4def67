// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/submission.hpp"

#include <boost/test/unit_test.hpp>

using batchai::spank::submission_time;

BOOST_AUTO_TEST_SUITE(submission)

BOOST_AUTO_TEST_CASE(the_time_is_that_of_the_jobs_own_line) {
    BOOST_TEST(submission_time("17 1764066000\n", 17) == "1764066000");
    // Tasks of a job array: each has a number of its own.
    BOOST_TEST(submission_time("18 1764066001\n17 1764066000\n19 1764066002\n", 17) ==
               "1764066000");
}

BOOST_AUTO_TEST_CASE(another_jobs_line_or_an_error_is_not_a_submission_time) {
    for (const char* lines :
         {"", "\n", "17\n", "17 \n", "117 1764066000\n", "170 1764066000\n", "x17 1764066000\n",
          "17 1764066000 more\n", "slurm_load_jobs error: Invalid job id specified\n"})
        BOOST_TEST(submission_time(lines, 17) == "", lines);
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/root/submission.hpp"

#include <boost/test/unit_test.hpp>

using batchai::spank::Fields;
using batchai::spank::Origin;
using batchai::spank::origin_of;
using batchai::spank::submission_time;

namespace {

Origin origin(const char* name, const char* time, const char* submitted) {
    Fields state;
    state.add(name, time);
    return origin_of(state, submitted);
}

}  // namespace

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
          "17 1764066000 more\n", "17 N/A\n", "17 2026-11-27T19:45:58\n",
          "slurm_load_jobs error: Invalid job id specified\n"})
        BOOST_TEST(submission_time(lines, 17) == "", lines);
}

BOOST_AUTO_TEST_CASE(a_state_with_a_time_of_submission_is_of_the_submission_with_the_same) {
    BOOST_TEST((origin("submitted", "1764066000", "1764066000") == Origin::this_one));
    BOOST_TEST((origin("submitted", "1764066000", "1764066001") == Origin::another));
    BOOST_TEST((origin("submitted", "", "1764066001") == Origin::another));
    BOOST_TEST((origin("uid", "1", "1764066001") == Origin::another));
}

BOOST_AUTO_TEST_CASE(a_set_up_is_of_no_later_submission_and_a_slow_clock_destroys_nothing) {
    BOOST_TEST((origin("made", "1764066000", "1764065000") == Origin::this_one));
    BOOST_TEST((origin("made", "1764066000", "1764066000") == Origin::this_one));
    BOOST_TEST((origin("made", "1764066000", "1764066001") == Origin::unclear));
    BOOST_TEST((origin("made", "1764066000", "1764066300") == Origin::unclear));
    BOOST_TEST((origin("made", "1764066000", "1764066301") == Origin::another));
}

BOOST_AUTO_TEST_SUITE_END()

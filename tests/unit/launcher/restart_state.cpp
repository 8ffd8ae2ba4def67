// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/restart_state.hpp"

#include <boost/test/unit_test.hpp>

using namespace batchai::launcher;

BOOST_AUTO_TEST_SUITE(restart_state)

namespace {

// A job's launches, run by run.
struct Job {
    std::vector<ListedLaunch> list;
    int run = 0;
    std::string start = "monday";

    int launch(const std::string& command, const std::string& manner = "plain") {
        return enter(list, {run, start, command, manner}).place;
    }
    void requeue() {
        ++run;
        start += "'";
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(launches_of_a_job_never_share_a_place) {
    Job job;
    BOOST_TEST(job.launch("train") == 1);
    BOOST_TEST(job.launch("train") == 2);
    BOOST_TEST(job.launch("evaluate") == 1);
    BOOST_TEST(job.launch("train", "other") == 3);
}

BOOST_AUTO_TEST_CASE(a_requeued_job_counts_its_launches_anew) {
    Job job;
    job.launch("train");
    job.launch("train");
    job.requeue();
    BOOST_TEST(job.launch("train") == 1);
    BOOST_TEST(job.launch("train") == 2);
    BOOST_TEST(job.launch("train") == 3);
    job.requeue();
    BOOST_TEST(job.launch("train") == 1);
}

BOOST_AUTO_TEST_CASE(launches_at_the_same_time_find_their_places_in_whatever_order_they_come) {
    Job job;
    job.launch("train", "SEED=1");
    job.launch("train", "SEED=2");
    job.requeue();
    BOOST_TEST(job.launch("train", "SEED=2") == 2);
    BOOST_TEST(job.launch("train", "SEED=1") == 1);
    job.requeue();
    BOOST_TEST(job.launch("train", "SEED=1") == 1);
    BOOST_TEST(job.launch("train", "SEED=3") == 2);  // by the order alone
}

BOOST_AUTO_TEST_CASE(a_list_of_an_earlier_job_with_the_same_number_is_emptied) {
    Job old;
    old.launch("train");
    old.requeue();
    old.launch("train");
    Job job;
    job.list = old.list;
    job.start = "tuesday";
    BOOST_TEST(job.launch("train") == 1);
    BOOST_TEST(job.list.size() == 1);
    BOOST_TEST(job.list.front().start == "tuesday");
}

BOOST_AUTO_TEST_CASE(a_run_of_which_slurm_does_not_say_the_start_loses_no_place) {
    Job job;
    job.launch("train");
    job.start = "unknown";
    BOOST_TEST(job.launch("train") == 2);
    job.start = "monday";
    BOOST_TEST(job.launch("train") == 3);
    BOOST_TEST(job.list.front().start == "monday");
}

BOOST_AUTO_TEST_CASE(variables_of_a_slurm_run_do_not_change_the_settings_digest) {
    const std::string first = settings_digest({"a"}, {{"SLURM_JOB_ID", "1"}, {"SEED", "1"}});
    BOOST_TEST(first == settings_digest({"a"}, {{"SLURM_RESTART_COUNT", "1"}, {"SEED", "1"}}));
    BOOST_TEST(first != settings_digest({"a"}, {{"SEED", "2"}}));
    BOOST_TEST(first != settings_digest({"a", "b"}, {{"SEED", "1"}}));
}

BOOST_AUTO_TEST_SUITE_END()

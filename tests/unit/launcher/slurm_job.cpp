// SPDX-License-Identifier: Apache-2.0
#include "launcher/slurm_job.hpp"

#include <boost/test/unit_test.hpp>

using namespace batchai::launcher;

BOOST_AUTO_TEST_SUITE(slurm_job)

BOOST_AUTO_TEST_CASE(a_running_batch_job) {
    const auto job = parse_slurm_job(
        "JobId=7 JobName=wrap JobState=RUNNING Reason=None Requeue=1 Restarts=0 BatchFlag=1 "
        "PreemptEligibleTime=2026-11-22T01:14:06 PreemptTime=None\n");
    BOOST_TEST(job.batch);
    BOOST_TEST(job.requeue);
    BOOST_TEST(!job.preempted);
    BOOST_TEST(!job.time_limit);
    BOOST_TEST(reason_to_end(job).empty());
}

BOOST_AUTO_TEST_CASE(an_allocation_of_salloc_that_is_never_run_again) {
    const auto job = parse_slurm_job("JobId=7 Requeue=0 Restarts=0 BatchFlag=0 PreemptTime=None\n");
    BOOST_TEST(!job.batch);
    BOOST_TEST(!job.requeue);
}

BOOST_AUTO_TEST_CASE(why_a_job_is_to_end) {
    BOOST_TEST(reason_to_end(parse_slurm_job("JobId=7 JobState=COMPLETING Reason=TimeLimit")) ==
               ": the job has reached its time limit");
    BOOST_TEST(reason_to_end(parse_slurm_job("JobId=7 PreemptTime=2026-11-22T01:14:09 X=1")) ==
               ": Slurm has pre-empted the job");
    BOOST_TEST(reason_to_end(parse_slurm_job("JobId=7 JobState=COMPLETING Reason=None")) ==
               ": the job was cancelled");
}

BOOST_AUTO_TEST_CASE(a_number_that_is_none_is_not_asked_for) {
    BOOST_TEST(!ask_slurm("1; rm"));
    BOOST_TEST(!ask_slurm(""));
}

BOOST_AUTO_TEST_SUITE_END()

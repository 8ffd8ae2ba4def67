// SPDX-License-Identifier: Apache-2.0
#include "slurm/own_job.hpp"
#include "tests/unit/printing.hpp"

#include <boost/test/unit_test.hpp>

using namespace batchai::slurm;

BOOST_AUTO_TEST_SUITE(slurm_job)

BOOST_AUTO_TEST_CASE(a_running_batch_job) {
    const auto job = parse_own_job(
        "JobId=7 JobName=wrap JobState=RUNNING Reason=None Requeue=1 Restarts=0 BatchFlag=1 "
        "PreemptEligibleTime=2026-11-22T01:14:06 PreemptTime=None\n",
        0);
    BOOST_TEST(job.batch);
    BOOST_TEST(job.requeue);
    BOOST_TEST(job.end == OwnJob::End::none);
    BOOST_TEST(!job.requeued);
    BOOST_TEST(job.restarts == 0);
    BOOST_TEST(reason_to_end(job).empty());
}

BOOST_AUTO_TEST_CASE(an_allocation_of_salloc_that_is_never_run_again) {
    const auto job =
        parse_own_job("JobId=7 Requeue=0 Restarts=0 BatchFlag=0 PreemptTime=None\n", 0);
    BOOST_TEST(!job.batch);
    BOOST_TEST(!job.requeue);
}

BOOST_AUTO_TEST_CASE(slurms_reason_to_end_a_job_is_named) {
    BOOST_TEST(reason_to_end(parse_own_job("JobId=7 JobState=COMPLETING Reason=TimeLimit", 0)) ==
               ": the job has reached its time limit");
    BOOST_TEST(reason_to_end(parse_own_job("JobId=7 PreemptTime=2026-11-22T01:14:09 X=1", 0)) ==
               ": Slurm has preempted the job");
    BOOST_TEST(reason_to_end(parse_own_job("JobId=7 JobState=COMPLETING Reason=None", 0)) ==
               ": the job was cancelled");
}

BOOST_AUTO_TEST_CASE(another_task_of_the_array_or_component_is_not_taken_for_the_job) {
    const std::string lines =
        "JobId=8 ArrayJobId=7 ArrayTaskId=1 JobState=CANCELLED\n"
        "JobId=7 ArrayJobId=7 ArrayTaskId=2 JobState=RUNNING\n";
    BOOST_TEST(line_of_job(lines, 7) == "JobId=7 ArrayJobId=7 ArrayTaskId=2 JobState=RUNNING\n");
    BOOST_TEST(parse_own_job(line_of_job(lines, 7), 0).end == OwnJob::End::none);
}

BOOST_AUTO_TEST_CASE(a_job_that_was_requeued_was_not_cancelled) {
    const std::string line =
        "JobId=7 JobState=COMPLETING Reason=None Requeue=1 Restarts=2 PreemptTime=None "
        "StartTime=2026-11-22T01:14:09 EndTime=Unknown\n";
    const OwnJob requeued = parse_own_job(line, 1);
    BOOST_TEST(requeued.requeued);
    BOOST_TEST(requeued.restarts == 1);
    BOOST_TEST(requeued.start == "2026-11-22T01:14:09");
    BOOST_TEST(reason_to_end(requeued) == ": the job was requeued");
    // That was before this run.
    BOOST_TEST(reason_to_end(parse_own_job(line, 2)) == ": the job was cancelled");
}

BOOST_AUTO_TEST_CASE(a_job_does_not_take_the_restarts_of_the_job_that_submitted_it_for_its_own) {
    const OwnJob job = parse_own_job("JobId=7 JobState=RUNNING Requeue=1 Restarts=0\n", 3);
    BOOST_TEST(job.restarts == 0);
    BOOST_TEST(!job.requeued);
}

namespace {

std::string step_options(const std::string& fields) {
    std::string text;
    const auto job = parse_own_job("JobId=7 NumTasks=2 " + fields + " Power=\n", 0);
    for (const std::string& option : job.gpus.step_options) text += option + " ";
    return text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_step_asks_for_all_gpus_unless_the_job_has_asked_per_node) {
    BOOST_TEST(step_options("") == "");
    BOOST_TEST(step_options("TresPerNode=gres:gpu:2") == "");
    BOOST_TEST(step_options("TresPerJob=gres:license:1") == "");
    for (const char* asked :
         {"TresPerJob=gres:gpu:4", "TresPerTask=gres:gpu:1", "TresPerSocket=gres:gpu:a100:2",
          "NtasksPerTRES=2", "TresPerTask=cpu=1,gres/gpu=1"}) {
        BOOST_TEST(step_options(asked) == "--gpus-per-socket=1 ");
    }
}

BOOST_AUTO_TEST_CASE(no_other_device_of_the_job_is_lost_to_a_step_that_asks_for_all_gpus) {
    BOOST_TEST(step_options("TresPerNode=gres:nic:1,gres:fpga:2 TresPerTask=gres:gpu:1") ==
               "--gpus-per-socket=1 --gres=nic:1,fpga:2 ");
    BOOST_TEST(step_options("TresPerNode=gres/nic:1 TresPerTask=gres/gpu:1") ==
               "--gpus-per-socket=1 --gres=nic:1 ");
}

BOOST_AUTO_TEST_CASE(gpus_per_task_and_tasks_per_gpu_are_read) {
    const auto per_task = [](const std::string& tres) {
        return parse_own_job("JobId=7 TresPerTask=" + tres + "\n", 0).gpus.gpus_per_task;
    };
    BOOST_TEST(per_task("gres:gpu:2") == 2);
    BOOST_TEST(per_task("gres:gpu:a100:4,gres:nic:8") == 4);
    BOOST_TEST(per_task("cpu=2,gres/gpu=3") == 3);
    BOOST_TEST(per_task("gres:gpu") == 1);
    BOOST_TEST(per_task("cpu=2") == 1);
    BOOST_TEST(parse_own_job("JobId=7 NtasksPerTRES=3 X=1", 0).gpus.tasks_per_gpu == 3);
    BOOST_TEST(parse_own_job("JobId=7 X=1", 0).gpus.tasks_per_gpu == 1);
}

BOOST_AUTO_TEST_CASE(slurm_says_which_task_or_component_the_job_is) {
    const auto number = [](const std::string& fields) {
        return parse_own_job("JobId=26 " + fields + " JobName=x\n", 0).number;
    };
    BOOST_TEST(number("").text() == "26");
    BOOST_TEST(number("ArrayJobId=26 ArrayTaskId=2").text() == "26_2");
    BOOST_TEST(number("ArrayJobId=25 ArrayTaskId=0").text() == "25_0");
    BOOST_TEST(number("ArrayJobId=25 ArrayTaskId=0").own() == 26);
    BOOST_TEST(number("HetJobId=25 HetJobOffset=1").text() == "25+1");
    // Tasks that wait together are no single task.
    BOOST_TEST(number("ArrayJobId=26 ArrayTaskId=3-5%2").text() == "26");
}

BOOST_AUTO_TEST_CASE(a_line_of_another_job_is_not_taken_for_the_jobs_own) {
    BOOST_TEST(line_of_job("JobId=71 JobName=x\n", 7) == "");
}

BOOST_AUTO_TEST_CASE(a_job_that_runs_is_not_being_ended_and_a_lost_node_is_no_cancel) {
    const auto end = [](const std::string& fields) {
        return parse_own_job("JobId=1 BatchFlag=1 Requeue=1 Restarts=1 " + fields, 0);
    };
    // A step of a job that ran before may lack SLURM_RESTART_COUNT.
    const OwnJob runs = end("JobState=RUNNING Reason=None EndTime=2026-11-29T00:00:00");
    BOOST_CHECK(runs.end == OwnJob::End::none);
    BOOST_TEST(runs.end_time == 0);
    const OwnJob requeued = end("JobState=COMPLETING Reason=None EndTime=2026-11-28T18:00:01");
    BOOST_CHECK(requeued.end == OwnJob::End::requeued);
    BOOST_TEST(requeued.end_time == 1795888801);
    const OwnJob lost =
        parse_own_job("JobId=1 Restarts=0 JobState=COMPLETING Reason=NodeDown EndTime=Unknown", 0);
    BOOST_CHECK(lost.end == OwnJob::End::none);
    BOOST_TEST(lost.end_time == 0);
}

BOOST_AUTO_TEST_SUITE_END()

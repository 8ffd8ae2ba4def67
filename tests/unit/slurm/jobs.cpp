// SPDX-License-Identifier: Apache-2.0
#include "slurm/jobs.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "slurm/command.hpp"
#include "slurm/limits.hpp"
#include "slurm/nodes.hpp"
#include "slurm/submit.hpp"

namespace batchai::slurm {
namespace {

std::optional<Job> parse_squeue_job(const std::string& text, std::int64_t id) {
    return parse_jobs(text).find(job::Number::of_job(id));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(jobs)

BOOST_AUTO_TEST_CASE(each_task_of_an_array_is_found_by_its_number) {
    const Jobs jobs = parse_jobs(
        "26_0 27 COMPLETED 0:0 1 2 mini None\n"
        "26_1 28 RUNNING 0:0 1 N/A mini None\n"
        "26_2 26 PENDING 0:0 N/A N/A mini Resources\n"
        "26_3 26 PENDING 0:0 N/A N/A mini Resources\n"
        "30+0 30 RUNNING 0:0 1 N/A mini None\n"
        "30+1 31 RUNNING 0:0 1 N/A mini None\n");
    const auto state = [&jobs](const job::Number& number) {
        const auto job = jobs.find(number);
        return job ? job->state : "";
    };
    BOOST_TEST(state(job::Number::of_task(26, 0)) == "COMPLETED");
    BOOST_TEST(state(job::Number::of_task(26, 1)) == "RUNNING");
    BOOST_TEST(state(job::Number::of_task(26, 3)) == "PENDING");
    BOOST_TEST(state(job::Number::of_task(26, 4)) == "");
    // An older release of batchai recorded a task's own number.
    BOOST_TEST(jobs.find(job::Number::of_job(28))->number.text() == "26_1");
    // A task that waits has no number of its own yet: 26 is not a task's.
    BOOST_TEST(jobs.find(job::Number::of_task(26, 2))->number.own() == 0);
    BOOST_TEST(state(job::Number::of_job(26)) == "");
    BOOST_TEST(state(job::Number::of_job(30)) == "RUNNING");
}

BOOST_AUTO_TEST_CASE(a_job_is_known_by_the_uuid_in_its_comment) {
    const auto jobs = parse_comments(
        "26_0 27 batchai:g/w/e/train/0f3a\n"
        "28 28 batchai:g/w/e/train\n"
        "29 29 my own comment\n"
        "30 30 (null)\n"
        "31 31 batchai:g/w/e/other/11aa   \n");
    BOOST_REQUIRE(jobs.size() == 2U);
    BOOST_TEST(jobs[0].number.text() == "26_0");
    BOOST_TEST(jobs[0].uuid == "0f3a");
    BOOST_TEST(jobs[1].number.text() == "31");
    BOOST_TEST(jobs[1].uuid == "11aa");
}

BOOST_AUTO_TEST_CASE(partitions_are_read_from_sinfo) {
    const auto partitions =
        parse_sinfo("batch*|n1|idle\nbatch*|n2|mixed\nlong|n1|idle\nnonsense\nlong|n3|down*\n");
    BOOST_REQUIRE(partitions.size() == 2);
    BOOST_TEST(partitions[0].name == "batch");
    BOOST_TEST(partitions[0].is_default);
    BOOST_TEST(partitions[0].nodes.size() == 2);
    BOOST_TEST(!partitions[1].is_default);
    BOOST_TEST(partitions[1].nodes.at(1).state == "down*");
}

BOOST_AUTO_TEST_CASE(the_time_limit_of_a_partition_is_read_from_sinfo) {
    const std::pair<const char*, long> limits[] = {
        {"1-02:03:04", 93784}, {"1:00:00", 3600}, {"30:00", 1800}, {"infinite", 0}, {"n/a", 0}};
    for (const auto& [text, seconds] : limits) {
        const auto partitions = parse_sinfo(std::string("mini*|n1|idle|") + text + "\n");
        BOOST_TEST(partitions.at(0).time_limit.value_or(0) == seconds, text);
        BOOST_TEST(partitions[0].nodes.at(0).state == "idle");
    }
}

BOOST_AUTO_TEST_CASE(slurms_reason_is_read_from_squeue_with_its_spaces) {
    const auto job = parse_squeue_job(
        "7 7 PENDING 0 N/A N/A mini ReqNodeNotAvail, UnavailableNodes:n1   \n"
        "8 8 PENDING 0 N/A N/A mini Resources\n",
        7);
    BOOST_REQUIRE(job);
    BOOST_TEST(job->reason == "ReqNodeNotAvail, UnavailableNodes:n1");
    BOOST_TEST(
        parse_squeue_job("7 7 PENDING 0 N/A N/A mini\n8 8 PENDING 0 N/A N/A mini Priority\n", 7)
            ->reason.empty());
}

BOOST_AUTO_TEST_CASE(a_job_is_read_from_squeue) {
    const auto job = parse_squeue_job(
        "8   8     RUNNING       0         1795239001      N/A             mini      \n"
        "7   7     FAILED        768       1795239001      1795239009      mini      \n",
        7);
    BOOST_REQUIRE(job);
    BOOST_TEST(job->state == "FAILED");
    BOOST_TEST(job->exit_code == 3);
    BOOST_TEST(*job->start_time == 1795239001.0);
    BOOST_TEST(*job->end_time == 1795239009.0);
    BOOST_TEST(job->partition == "mini");
}

BOOST_AUTO_TEST_CASE(a_job_is_read_from_newer_squeues_which_print_code_and_signal) {
    BOOST_TEST(parse_squeue_job("7 7 FAILED 3:0 1 9 mini\n", 7)->exit_code == 3);
    BOOST_TEST(parse_squeue_job("7 7 FAILED 0:9 1 9 mini\n", 7)->exit_code == 137);
    BOOST_TEST(parse_squeue_job("7 7 COMPLETED 0:0 1 9 mini\n", 7)->exit_code == 0);
}

BOOST_AUTO_TEST_CASE(unknown_times_are_none_and_signals_count_from_128) {
    const auto job = parse_squeue_job("7 7 PENDING 9 N/A Unknown mini\n", 7);
    BOOST_REQUIRE(job);
    BOOST_TEST(!job->start_time);
    BOOST_TEST(!job->end_time);
    BOOST_TEST(job->exit_code == 137);
    BOOST_TEST(!parse_squeue_job("\n", 7));
}

BOOST_AUTO_TEST_CASE(a_job_that_slurmctld_has_forgotten_is_known_from_the_accounting) {
    const std::string text =
        "7|7|COMPLETED|0:0|50|60|70|mini\n"  // had the number before
        "7|7|CANCELLED by 1000|0:15|100|110|120|mini\n"
        "8|8|TIMEOUT|0:0|100|110|120|mini\n"
        "26_3|28|FAILED|5:0|100|110|120|mini\n"
        "26_4|26|FAILED|6:0|100|110|120|mini\n";
    const auto sacct = [](const std::string& lines, std::int64_t id, double earliest) {
        return parse_sacct(lines, job::Number::of_job(id), earliest);
    };
    const auto job = sacct(text, 7, 99);
    BOOST_TEST(parse_sacct(text, job::Number::of_task(26, 3), 0)->exit_code == 5);
    BOOST_TEST(parse_sacct(text, job::Number::of_task(26, 4), 0)->exit_code == 6);
    BOOST_TEST(sacct(text, 28, 0)->exit_code == 5);
    BOOST_REQUIRE(job);
    BOOST_TEST(job->state == "CANCELLED");
    BOOST_TEST(job->exit_code == 143);
    BOOST_TEST(job->start_time.value() == 110);
    BOOST_TEST(job->end_time.value() == 120);
    BOOST_TEST(job->partition == "mini");
    BOOST_TEST(sacct(text, 8, 99)->state == "TIMEOUT");
    BOOST_TEST(sacct("9|9|FAILED|3:0|100|110|120|mini\n", 9, 0)->exit_code == 3);
    // Another job's, one without an end, and what is no answer.
    BOOST_TEST(!sacct(text, 7, 101));
    BOOST_TEST(!sacct(text, 6, 0));
    BOOST_TEST(!sacct("9|9|RUNNING|0:0|100|110|Unknown|mini\n", 9, 0));
    for (const char* other : {"", "9|", "Slurm accounting storage is disabled\n", "9|||||||\n"})
        BOOST_TEST(!sacct(other, 9, 0), other);
}

BOOST_AUTO_TEST_CASE(submission_asks_sbatch_for_what_the_job_file_says) {
    Submission submission;
    submission.job_name = "train";
    submission.nodes = 4;
    submission.gres = "gpu:1";
    submission.partition = "mini";
    submission.job_file = "/home/u/job.json";
    submission.launcher = "/opt/my tools/batchai-launch";
    submission.pass_through = {"--account=a", "--time=10"};
    const auto arguments = sbatch_arguments(submission);
    for (const char* argument :
         {"--nodes=4", "--gres=gpu:1", "--partition=mini", "--job-name=train", "--account=a",
          "--time=10", "--batchai-job=/home/u/job.json", "--export=ALL", "--open-mode=append"})
        BOOST_TEST((std::find(arguments.begin(), arguments.end(), argument) != arguments.end()),
                   argument);
    BOOST_TEST(batch_script(submission) ==
               "#!/bin/bash\nexec '/opt/my tools/batchai-launch' --job \"$BATCHAI_JOB_FILE\"\n");
    submission.without_plugin = true;
    submission.job_file = "/home/a user/job.json";
    for (const auto& argument : sbatch_arguments(submission))
        BOOST_TEST(!argument.starts_with("--batchai"));
    BOOST_TEST(batch_script(submission) ==
               "#!/bin/bash\nexec '/opt/my tools/batchai-launch' --without-plugin --job "
               "'/home/a user/job.json'\n");
    submission.partition.clear();
    for (const auto& argument : sbatch_arguments(submission))
        BOOST_TEST(!argument.starts_with("--partition"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace batchai::slurm

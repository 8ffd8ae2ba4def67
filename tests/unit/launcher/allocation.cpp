// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/allocation.hpp"
#include "tests/unit/printing.hpp"

#include <boost/test/unit_test.hpp>

using namespace batchai;
using namespace batchai::launcher;

BOOST_AUTO_TEST_SUITE(allocation)

BOOST_AUTO_TEST_CASE(slurm_says_where_we_are) {
    const auto found = slurm_allocation({{"SLURM_JOB_ID", "42"}, {"SLURM_JOB_NODELIST", "n[1-2]"}});
    BOOST_REQUIRE(found);
    BOOST_TEST(found->job.text() == "42");
    BOOST_TEST(found->job.own() == 42);
    BOOST_TEST(found->nodes.size() == 2U);
    BOOST_TEST(!slurm_allocation({{"HOME", "/"}}).has_value());
}

BOOST_AUTO_TEST_CASE(only_the_first_task_of_an_srun_starts_agents) {
    env::Environment task = {
        {"SLURM_JOB_ID", "42"}, {"SLURM_JOB_NODELIST", "n[1-2]"}, {"SLURM_PROCID", "0"}};
    BOOST_TEST(slurm_allocation(task).has_value());
    task["SLURM_PROCID"] = "1";
    BOOST_TEST(slurm_allocation(task).error().message ==
               "srun has started this as task 1: start it once, without srun or with srun -N1 -n1");
    task["BATCHAI_NODE_NAME"] = "n2";  // a rank of batchai-launch may start another one
    BOOST_TEST(slurm_allocation(task).has_value());
}

BOOST_AUTO_TEST_CASE(tasks_count_where_the_user_has_asked_for_them) {
    env::Environment job = {{"SLURM_JOB_ID", "42"},
                            {"SLURM_JOB_NODELIST", "n[1-4]"},
                            {"SLURM_TASKS_PER_NODE", "2(x3),1"}};
    BOOST_TEST(slurm_allocation(job)->tasks.empty());
    job["SLURM_NTASKS"] = "7";
    BOOST_TEST(slurm_allocation(job)->tasks == (std::vector<int>{2, 2, 2, 1}),
               boost::test_tools::per_element());
    job["SLURM_TASKS_PER_NODE"] = "7";
    BOOST_TEST(slurm_allocation(job)->tasks.empty());
    job["SLURM_TASKS_PER_NODE"] = "2(x3),1";
    job["SLURM_STEP_ID"] = "0";
    BOOST_TEST(slurm_allocation(job)->tasks.empty());
}

BOOST_AUTO_TEST_CASE(the_distribution_of_the_job_is_used_or_named_as_ignored) {
    const auto check = [](const std::string& asked, Order order, const std::string& ignored) {
        const auto found = slurm_allocation({{"SLURM_JOB_ID", "42"},
                                             {"SLURM_JOB_NODELIST", "n[1-2]"},
                                             {"SLURM_DISTRIBUTION", asked}});
        BOOST_TEST((found->order == order), asked);
        BOOST_TEST(found->ignored_distribution == ignored);
    };
    check("block", Order::block, "");
    check("cyclic", Order::cyclic, "");
    check("cyclic:block", Order::cyclic, ":block");
    check("block,pack", Order::block, ",pack");
    check("plane", Order::block, "plane");
    check("arbitrary", Order::block, "arbitrary");
}

BOOST_AUTO_TEST_CASE(the_distribution_of_a_step_is_not_the_jobs) {
    const auto found = slurm_allocation({{"SLURM_JOB_ID", "42"},
                                         {"SLURM_JOB_NODELIST", "n[1-2]"},
                                         {"SLURM_STEP_ID", "0"},
                                         {"SLURM_DISTRIBUTION", "cyclic"}});
    BOOST_TEST(found->order == Order::block);
}

BOOST_AUTO_TEST_CASE(one_component_of_a_heterogeneous_job_is_used_as_srun_does) {
    env::Environment job = {{"SLURM_JOB_ID", "42"},
                            {"SLURM_HET_SIZE", "2"},
                            {"SLURM_JOB_ID_HET_GROUP_1", "43"},
                            {"SLURM_JOB_NODELIST_HET_GROUP_0", "n1"},
                            {"SLURM_JOB_NODELIST_HET_GROUP_1", "n[2-3]"},
                            {"SLURM_TASKS_PER_NODE_HET_GROUP_1", "2(x2)"},
                            {"SLURM_NTASKS_HET_GROUP_1", "4"}};
    const auto salloc = slurm_allocation(job);  // which sets no node list of the whole
    BOOST_REQUIRE(salloc);
    BOOST_TEST(salloc->component.value() == 0);
    BOOST_TEST(salloc->nodes == std::vector<std::string>{"n1"}, boost::test_tools::per_element());

    job["SLURM_JOB_NODELIST"] = "n[2-3]";  // srun --het-group=1
    const auto second = slurm_allocation(job);
    BOOST_REQUIRE(second);
    BOOST_TEST(second->component.value() == 1);
    BOOST_TEST(second->job.text() == "42+1");
    BOOST_TEST(second->job.own() == 43);
    BOOST_TEST(second->tasks == (std::vector<int>{2, 2}), boost::test_tools::per_element());

    job["SLURM_JOB_NODELIST"] = "n[1-3]";  // srun --het-group=0,1
    BOOST_TEST(slurm_allocation(job).error().message.starts_with(
        "this step is part of several components of a heterogeneous job"));
}

BOOST_AUTO_TEST_CASE(a_step_of_a_component_on_shared_nodes_is_not_taken_for_the_first) {
    env::Environment job = {{"SLURM_JOB_ID", "42"},
                            {"SLURM_HET_SIZE", "2"},
                            {"SLURM_JOB_ID_HET_GROUP_0", "42"},
                            {"SLURM_JOB_ID_HET_GROUP_1", "43"},
                            {"SLURM_JOB_NODELIST", "n1"},
                            {"SLURM_JOB_NODELIST_HET_GROUP_0", "n1"},
                            {"SLURM_JOB_NODELIST_HET_GROUP_1", "n1"}};
    const auto refuse = [] { return sys::Result<std::int64_t>(sys::Error{"asked"}); };
    BOOST_TEST(slurm_allocation(job, refuse)->component.value() == 0);  // a batch script
    job["SLURM_STEP_ID"] = "0";
    const auto second = slurm_allocation(job, [] { return sys::Result<std::int64_t>(43); });
    BOOST_REQUIRE(second);
    BOOST_TEST(second->component.value() == 1);
    BOOST_TEST(second->job.own() == 43);
    BOOST_TEST(slurm_allocation(job, refuse)
                   .error()
                   .message.starts_with(
                       "cannot tell which component of the job this step is part of: asked"));
    BOOST_TEST(!slurm_allocation(job, [] { return sys::Result<std::int64_t>(44); }));
}

BOOST_AUTO_TEST_CASE(the_job_of_a_process_is_not_that_of_another_one) {
    const std::string list =
        "PID      JOBID    STEPID   LOCALID GLOBALID\n"
        "29       2        1        0       0       \n"
        "129      3        batch    -       -       \n";
    BOOST_TEST(slurm::job_of_process(list, "29") == "2");
    BOOST_TEST(slurm::job_of_process(list, "129") == "3");
    BOOST_TEST(slurm::job_of_process(list, "9").empty());
}

BOOST_AUTO_TEST_CASE(local_nodes_have_names_of_their_own) {
    const auto local = local_allocation(2);
    BOOST_TEST(local.nodes[0] != local.nodes[1]);
    BOOST_TEST(local.local);
}

BOOST_AUTO_TEST_SUITE_END()

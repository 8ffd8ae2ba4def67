// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/restart.hpp"

#include "launcher/root/starter.hpp"

#include <boost/test/unit_test.hpp>

using namespace batchai::launcher;

BOOST_AUTO_TEST_SUITE(restart)

namespace {

Allocation four_nodes() {
    Allocation allocation;
    allocation.nodes = {"n1", "n2", "n3", "n4"};
    return allocation;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_step_that_a_user_has_cancelled_is_told_from_one_that_ended_with_its_node) {
    const std::string line =
        "slurmstepd-n1: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-29T01:08:59";
    BOOST_TEST(cancelled_step_in(line + " ***") == "7.0");
    BOOST_TEST(cancelled_step_in(line + " DUE TO NODE FAILURE, SEE SLURMCTLD LOG ***").empty());
    BOOST_TEST(cancelled_step_in("*** JOB 7 ON n1 CANCELLED AT 2026-11-29T01:08:59 ***").empty());
    BOOST_TEST(cancelled_step_in("srun: error: n2: task 1: Killed").empty());
}

BOOST_AUTO_TEST_CASE(srun_says_which_agent_has_ended_and_how) {
    const auto one = ended_agent_in("srun: error: n2: task 1: Exited with exit code 127");
    BOOST_TEST(one.value().node == "n2");
    BOOST_TEST(one->task == 1);
    BOOST_TEST(one->how == "exit code 127");
    const auto first = ended_agent_in(
        "[2026-11-29T01:08:59] srun: error: gpu[07,09]: tasks 12,14-15: Segmentation fault (core "
        "dumped)");
    BOOST_TEST(first.value().node == "gpu07");
    BOOST_TEST(first->task == 12);
    BOOST_TEST(first->how == "Segmentation fault (core dumped)");
    const auto unreached = ended_agent_in(
        "srun: error: Task launch for StepId=1.0 failed on node n2: Communication connection "
        "failure");
    BOOST_TEST(unreached.value().node == "n2");
    BOOST_TEST(unreached->how == "Communication connection failure");
    BOOST_TEST(ended_agent_in("srun: error: task 1 launch failed: Invalid job credential")->task ==
               1);
    for (const char* other : {"srun: error: Application launch failed: Invalid job credential",
                              "n2: task 1: Exited with exit code 127", "srun: error: n2: x: y"})
        BOOST_TEST(!ended_agent_in(other));
}

BOOST_AUTO_TEST_CASE(lost_nodes_are_left_out_where_enough_remain) {
    const auto left = without_nodes(four_nodes(), {"n2"}, {1, 3});
    BOOST_TEST(left.nodes == (std::vector<std::string>{"n1", "n3", "n4"}),
               boost::test_tools::per_element());
    BOOST_TEST(left.reduced);
}

BOOST_AUTO_TEST_CASE(all_nodes_are_tried_again_if_too_few_would_remain) {
    for (const Restarts& restarts : {Restarts{1, 4}, Restarts{1, std::nullopt}}) {
        const auto left = without_nodes(four_nodes(), {"n2"}, restarts);
        BOOST_TEST(left.nodes.size() == 4U);
        BOOST_TEST(!left.reduced);
    }
}

BOOST_AUTO_TEST_CASE(a_reduced_allocation_stays_reduced) {
    const Restarts restarts{2, 2};
    const auto once = without_nodes(four_nodes(), {"n1"}, restarts);
    BOOST_TEST(without_nodes(once, {}, restarts).reduced);
    BOOST_TEST(without_nodes(once, {"n3"}, restarts).nodes.size() == 2U);
}

BOOST_AUTO_TEST_CASE(only_the_named_ends_are_requeued) {
    const RequeuePolicy policy{{"signal", "node-fail"}, 3};
    BOOST_TEST(is_named(policy, Cause::signal));
    BOOST_TEST(is_named(policy, Cause::node));
    BOOST_TEST(!is_named(policy, Cause::rank));
    BOOST_TEST(!is_named(policy, Cause::other));
    BOOST_TEST(!is_named(policy, Cause::none));
}

BOOST_AUTO_TEST_SUITE_END()

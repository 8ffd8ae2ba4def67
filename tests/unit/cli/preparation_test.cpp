// SPDX-License-Identifier: Apache-2.0
#include "cli/job/job_document.hpp"

#include <boost/test/unit_test.hpp>

namespace batchai::cli {
namespace {

using nlohmann::json;
using EventKind = job::Event::Kind;

job::Event event(EventKind kind, double time, const std::string& node, const std::string& code = "",
                 const std::string& message = "") {
    return {kind, time, node, code, message};
}

Execution running() {
    Execution execution;
    execution.state = Execution::State::running;
    return execution;
}

std::string brief(const json& preparation) {
    std::string text;
    for (const auto& node : preparation)
        text += node["node"].get<std::string>() + " " + node["state"].get<std::string>() + " " +
                node["seconds"].dump() + "\n";
    return text;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(preparation)

BOOST_AUTO_TEST_CASE(each_node_is_told_with_its_state_and_time) {
    const json told = preparation_of(
        {event(EventKind::mounted, 1, "n4"), event(EventKind::mounted, 2, "n3"),
         event(EventKind::mounted, 3, "n2"), event(EventKind::mounted, 4, "n1"),
         event(EventKind::preparing, 5, "n1"), event(EventKind::preparing, 6, "n2"),
         event(EventKind::preparing, 7, "n3"), event(EventKind::prepared, 8.25, "n1"),
         event(EventKind::failed, 9, "n3", "JobPreparationFailed", "why"),
         event(EventKind::started, 10, "n1")},
        running(), 18.34);
    BOOST_TEST(brief(told) ==
               "n1 prepared 3.3\nn2 preparing 12.3\nn3 failed 2.0\nn4 mounted null\n");
    BOOST_TEST(told[0]["message"].is_null());
    BOOST_TEST(told[2]["message"] == "why");
    BOOST_TEST(preparing_text(told) == "preparing n2 (12 s)");
}

BOOST_AUTO_TEST_CASE(a_job_without_events_has_no_progress) {
    BOOST_TEST(preparation_of({}, running(), 1).is_null());
    BOOST_TEST(preparing_text(json()).empty());
}

BOOST_AUTO_TEST_CASE(a_failure_of_the_ranks_is_none_of_the_preparation) {
    const json told =
        preparation_of({event(EventKind::preparing, 1, "n1"), event(EventKind::prepared, 2, "n1"),
                        event(EventKind::failed, 3, "n1", "JobFailed", "rank 0"),
                        event(EventKind::failed, 3, "launch", "JobFailed", "rank 0")},
                       running(), 4);
    BOOST_TEST(brief(told) == "n1 prepared 1.0\n");
}

BOOST_AUTO_TEST_CASE(the_last_run_of_a_requeued_job_counts) {
    const json told =
        preparation_of({event(EventKind::mounted, 1, "n1"), event(EventKind::preparing, 2, "n1"),
                        event(EventKind::failed, 3, "n1", "JobPreparationFailed", "why"),
                        event(EventKind::mounted, 9, "n1"), event(EventKind::preparing, 10, "n1")},
                       running(), 11);
    BOOST_TEST(brief(told) == "n1 preparing 1.0\n");
    BOOST_TEST(told[0]["message"].is_null());
}

BOOST_AUTO_TEST_CASE(no_node_is_preparing_after_the_jobs_end) {
    Execution execution;
    execution.state = Execution::State::failed;
    execution.end_time = 4;
    const json told = preparation_of({event(EventKind::preparing, 1, "n1")}, execution, 100);
    BOOST_TEST(brief(told) == "n1 failed 3.0\n");
}

BOOST_AUTO_TEST_CASE(a_job_that_waits_again_has_told_nothing_yet) {
    BOOST_TEST(preparation_of({event(EventKind::preparing, 1, "n1")}, Execution{}, 2).is_null());
}

BOOST_AUTO_TEST_CASE(a_clock_that_is_behind_gives_no_negative_time) {
    const json told = preparation_of({event(EventKind::preparing, 100, "n1")}, running(), 99);
    BOOST_TEST(brief(told) == "n1 preparing 0.0\n");
}

BOOST_AUTO_TEST_CASE(only_some_of_many_nodes_are_named) {
    std::vector<job::Event> events;
    for (int i = 1; i <= 9; ++i)
        events.push_back(event(EventKind::preparing, 10 - i, "n" + std::to_string(i)));
    const json told = preparation_of(events, running(), 10);
    BOOST_TEST(preparing_text(told) == "preparing n1, n2, n3 and 6 more (9 s)");
    BOOST_TEST(preparing_nodes(told).size() == 9U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace batchai::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/job/top_view.hpp"

#include <boost/test/unit_test.hpp>

namespace batchai::cli {
namespace {

using nlohmann::json;
using EventKind = job::Event::Kind;

json rank(int number, const json& waiting, const std::string& line) {
    return {
        {"rank", number},  {"node", "n1"},   {"state", "S"},       {"cores", 0.98},
        {"memory", 3.5e8}, {"gpu", nullptr}, {"waiting", waiting}, {"operationsPerSecond", waiting},
        {"silent", 2.4},   {"line", line}};
}

json view_of(const std::vector<json>& ranks) {
    return {{"restarts", 1},
            {"maxRestarts", 2},
            {"requeues", 0},
            {"awaited", nullptr},
            {"nodes", {{{"node", "n1"}, {"memoryLimit", 1.6e10}, {"gpus", json::array()}}}},
            {"ranks", ranks}};
}

json document(const Execution& execution, const json& view = {},
              const std::vector<job::Event>& events = {}) {
    JobRow row;
    row.identity.name = "train";
    row.number = job::Number::of_job(26);
    return top_document(row, execution, events, view, "", 1000);
}

Execution half_way() {
    Execution execution;
    execution.state = Execution::State::running;
    execution.start_time = 900;
    execution.slurm.emplace();
    execution.slurm->end_time = 4500;
    return execution;
}

bool has(const std::vector<std::string>& lines, const std::string& text) {
    return std::any_of(lines.begin(), lines.end(),
                       [&text](const std::string& line) { return line.find(text) != line.npos; });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(top)

BOOST_AUTO_TEST_CASE(a_running_job_has_its_times_and_the_phase_of_each_node) {
    const json job = document(
        half_way(), {},
        {{EventKind::started, 100, "n3", "", ""},  // of an earlier run, before the job was requeued
         {EventKind::mounted, 901, "n1", "", ""},
         {EventKind::preparing, 902, "n1", "", ""},
         {EventKind::mounted, 901, "n2", "", ""},
         {EventKind::started, 990, "n2", "", ""}});
    const auto lines = top_lines({job}, 80, 0);
    BOOST_REQUIRE_EQUAL(lines.size(), 2U);
    BOOST_TEST(lines[0] == "train: running, job 26, 0:01:40, 0:58:20 left");
    BOOST_TEST(lines[1] == "prepare n1 (98s); run n2 (10s)");
}

BOOST_AUTO_TEST_CASE(a_job_that_waits_has_the_reason_and_the_expected_start) {
    Execution execution;
    execution.waits_for = "Resources";
    execution.slurm.emplace();
    execution.slurm->start_time = 7200;
    const auto lines = top_lines({document(execution)}, 0, 0);
    BOOST_TEST(lines.front() ==
               "train: queued, job 26 (Resources), Slurm expects to start it at "
               "1970-01-01T02:00:00+00:00");
}

BOOST_AUTO_TEST_CASE(a_rank_is_a_line_without_what_controls_a_terminal) {
    const auto lines = top_lines(
        {document(half_way(), view_of({rank(0, 0.84, "\033[1;32mloss\033[0m 0.5 \a\033]0;x")}))},
        100, 0);
    BOOST_TEST(lines.front().ends_with(", restart 1 of 2"));
    BOOST_TEST(lines.back() ==
               "   0  n1    S    98  334M/15G      1     84  2s   loss 0.5 \\u0007\\u001b]0;x");
}

BOOST_AUTO_TEST_CASE(columns_that_no_rank_has_are_left_out) {
    const auto lines = top_lines({document(half_way(), view_of({rank(0, nullptr, "x")}))}, 100, 0);
    BOOST_TEST(has(lines, "Rank  Node  S  CPU%  Memory    Age  Last line"));
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_a_screen_is_left_out_but_ranks_that_others_wait_for) {
    std::vector<json> ranks;
    for (int i = 0; i < 100; ++i) ranks.push_back(rank(i, i == 70 ? 0.0 : 0.9, "a line"));
    json view = view_of(ranks);
    view["awaited"] = {{"ranks", {70}}, {"share", 0.9}};
    const auto lines = top_lines({document(half_way(), view)}, 60, 20);
    BOOST_TEST(lines.size() <= 20U);
    BOOST_TEST(has(lines, "rank 70 (n1) makes the others wait"));
    BOOST_TEST(has(lines, "  70  n1"));
    BOOST_TEST(has(lines, "more ranks"));
    for (const auto& line : lines) BOOST_TEST(line.size() <= 60U, line);
    BOOST_TEST(top_lines({document(half_way(), view)}, 0, 0).size() == 104U);
}

BOOST_AUTO_TEST_CASE(ranks_have_the_names_that_their_launcher_gives) {
    json view = view_of({rank(0, 0.9, "x"), rank(2, 0.0, "y")});
    view["ranks"][1]["name"] = "1:0";
    view["awaited"] = {{"ranks", {2}}, {"names", "1:0"}, {"share", 0.9}};
    const auto lines = top_lines({document(half_way(), view)}, 0, 0);
    BOOST_TEST(has(lines, "rank 1:0 (n1) makes the others wait"));
    BOOST_TEST(lines.back().starts_with("1:0 "), lines.back());
}

BOOST_AUTO_TEST_CASE(a_view_of_another_release_is_named_and_the_rest_is_shown) {
    json view = view_of({rank(0, 0.9, "x")});
    view["ranks"][0].erase("silent");
    const auto lines = top_lines({document(half_way(), view)}, 0, 0);
    BOOST_REQUIRE_EQUAL(lines.size(), 2U);
    BOOST_TEST(lines[0].starts_with("train: running"));
    BOOST_TEST(lines[1] == "this job's launcher is of another release");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace batchai::cli

// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/hang.hpp"

#include <boost/test/unit_test.hpp>

#include "launcher/agent/stacks.hpp"

using namespace batchai::launcher;

namespace {

using Stage = RankProgress::Stage;

const RankMap kMap{{"n1", "n2"}, {0, 3, 6}};  // three ranks on each

RankState at(int rank, Stage stage, std::uint64_t operation = 0) {
    RankState state;
    state.rank = rank;
    state.progress.stage = stage;
    state.progress.epoch = stage == Stage::none ? 0 : 1;
    state.progress.operation = operation;
    if (operation > 0) state.progress.what = "operation " + std::to_string(operation);
    state.progress.seconds = 31;
    return state;
}

RankState waiting(int rank, std::uint64_t operation, std::vector<int> missing = {},
                  bool certain = true) {
    RankState state = at(rank, Stage::begun, operation);
    state.progress.inside = true;
    state.progress.missing = std::move(missing);
    state.progress.certain = certain;
    return state;
}

void expect(const HangReport& report, const std::vector<std::string>& lines) {
    BOOST_TEST(report.lines == lines, boost::test_tools::per_element());
}

void expect_ranks(const std::vector<int>& found, const std::vector<int>& wanted) {
    BOOST_TEST(found == wanted, boost::test_tools::per_element());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(hang)

BOOST_AUTO_TEST_CASE(ranks_have_names) {
    BOOST_TEST(name_ranks({4}, kMap) == "rank 4 (n2)");
    BOOST_TEST(name_ranks({0, 1, 2, 5}, kMap) == "ranks 0-2, 5");
    std::vector<int> even;
    for (int rank = 0; rank < 80; rank += 2) even.push_back(rank);
    BOOST_TEST(name_ranks(even, kMap).ends_with(", 30 and 24 more"));
}

BOOST_AUTO_TEST_CASE(the_rank_that_has_not_come_is_waited_for) {
    const auto report = hang_report({waiting(5, 8, {4}), waiting(0, 8, {3}, false),
                                     at(4, Stage::idle, 7), waiting(1, 8, {3}, false)},
                                    kMap);
    expect(report, {"ranks 0-1, 5 wait for rank 4 (n2)",
                    "  rank 4 (n2): in no collective since operation 7, 31 s ago",
                    "  ranks 0-1, 5: in operation 8, waiting for rank 4 (n2) for 31 s"});
    expect_ranks(report.awaited, {4});
    expect_ranks(report.interesting, {4, 0});
}

BOOST_AUTO_TEST_CASE(only_a_guess_of_the_neighbours_is_said_to_be_one) {
    const auto report = hang_report({waiting(0, 8, {3}, false), at(4, Stage::idle, 7)}, kMap);
    BOOST_TEST(report.lines.back() ==
               "  rank 0 (n1): in operation 8, waiting for rank 3 (n2) or a neighbour for 31 s");
}

BOOST_AUTO_TEST_CASE(in_the_same_operation_the_rank_that_others_miss_is_waited_for) {
    RankState stopped = waiting(3, 8, {1}, false);
    stopped.stopped = true;
    const auto report = hang_report({waiting(0, 8, {3}, false), stopped}, kMap);
    BOOST_TEST(report.lines[0] == "rank 0 (n1) waits for rank 3 (n2)");
    BOOST_TEST(report.lines[2] ==
               "  rank 3 (n2): in operation 8, waiting for rank 1 (n1) or a neighbour for 31 s, "
               "stopped by a signal");
    // Rank 3 has ended, or does not answer.
    expect_ranks(hang_report({waiting(0, 8, {3}, false)}, kMap).awaited, {3});
}

BOOST_AUTO_TEST_CASE(no_rank_is_blamed_if_none_is_behind) {
    const auto report = hang_report({waiting(0, 8, {1}, false), waiting(1, 8, {0}, false)}, kMap);
    BOOST_TEST(report.lines[0] == "ranks 0-1 are in a collective, and no rank is behind");
    expect_ranks(report.awaited, {});
    expect_ranks(report.interesting, {0});
}

BOOST_AUTO_TEST_CASE(a_rank_that_has_started_the_operation_does_not_count_as_waiting) {
    const auto report = hang_report({waiting(0, 8), at(1, Stage::begun, 8)}, kMap);
    BOOST_TEST(report.lines[0] == "rank 0 (n1) waits for rank 1 (n1)");
    BOOST_TEST(report.lines.back() ==
               "  rank 1 (n1): has started operation 8 31 s ago, and does not wait for it");
}

BOOST_AUTO_TEST_CASE(a_rank_that_is_ahead_is_not_waited_for) {
    // The root of a broadcast has done its part and goes on.
    const auto report = hang_report({at(0, Stage::idle, 8), waiting(1, 8, {2})}, kMap);
    expect_ranks(report.awaited, {2});
}

BOOST_AUTO_TEST_CASE(ranks_that_have_not_called_init_are_waited_for_by_those_that_have) {
    const auto report =
        hang_report({at(0, Stage::joining), at(1, Stage::none), at(2, Stage::joining)}, kMap);
    expect(report, {"ranks 0, 2 wait for rank 1 (n1)",
                    "  rank 1 (n1): no use of the collective library so far",
                    "  ranks 0, 2: in init, waiting for all ranks for 31 s"});
}

BOOST_AUTO_TEST_CASE(a_rank_between_two_jobs_of_the_library_is_behind) {
    RankState again = at(0, Stage::joining);
    again.progress.epoch = 2;
    expect_ranks(hang_report({again, at(1, Stage::left, 9)}, kMap).awaited, {1});
}

BOOST_AUTO_TEST_CASE(a_job_without_a_waiting_rank_awaits_no_rank) {
    const auto report = hang_report({at(0, Stage::idle), at(1, Stage::left, 3)}, kMap);
    expect(report,
           {"no rank waits in a collective", "  rank 0 (n1): in no collective since init, 31 s ago",
            "  rank 1 (n1): left the collective library 31 s ago"});
    expect_ranks(report.interesting, {0});
}

BOOST_AUTO_TEST_CASE(programs_without_the_library_get_no_lines) {
    const auto report = hang_report({at(3, Stage::none), at(2, Stage::none)}, kMap);
    BOOST_TEST(report.lines.empty());
    expect_ranks(report.interesting, {2});
}

BOOST_AUTO_TEST_CASE(stacks_are_asked_for_only_some_of_many_awaited_ranks) {
    std::vector<RankState> states{waiting(0, 2)};
    for (int rank = 1; rank < 6; ++rank) states.push_back(at(rank, Stage::idle, 1));
    const auto report = hang_report(states, kMap);
    BOOST_TEST(report.awaited.size() == 5u);
    expect_ranks(report.interesting, {1, 2, 3, 4, 0});
}

BOOST_AUTO_TEST_CASE(ranks_without_the_library_are_grouped_by_their_line_of_python) {
    std::vector<RankState> states;
    for (int rank = 0; rank < 6; ++rank) {
        states.push_back(at(rank, Stage::none));
        states.back().line = rank == 4 ? "train.py:17 in main" : "train.py:21 in main";
    }
    states[5].line.clear();  // not a Python
    const auto report = hang_report(states, kMap);
    expect(report, {"lines of Python:", "  rank 4 (n2): train.py:17 in main",
                    "  ranks 0-3: train.py:21 in main"});
    expect_ranks(report.interesting, {4, 0});
}

BOOST_AUTO_TEST_CASE(the_line_of_python_is_the_innermost_of_the_programs_own) {
    const std::string torch =
        "  File \"/env/lib/python3.11/site-packages/torch/d.py\", line 9 in f";
    const std::string own = "  File \"/home/alice/train.py\", line 21 in <module>";
    const std::string thread = "Current thread 0x2 (most recent call first):";
    BOOST_TEST(python_line({thread, torch, own}) == "train.py:21 in <module>");
    BOOST_TEST(python_line({thread, torch, "Thread 0x1 (most recent call first):", own}) ==
               "d.py:9 in f");
    BOOST_TEST(python_line({thread}) == "");
    BOOST_TEST(python_line({}) == "");
}

BOOST_AUTO_TEST_CASE(the_python_thread_that_was_asked_comes_first) {
    const auto frames = python_frames(
        "Thread 0x1 (most recent call first):\n  File \"b.py\", line 2 in poll\n\n"
        "Current thread 0x2 (most recent call first):\n  File \"a.py\", line 1 in <module>\n");
    BOOST_REQUIRE_EQUAL(frames.size(), 4u);
    BOOST_TEST(frames[1] == "  File \"a.py\", line 1 in <module>");
    BOOST_TEST(frames[3] == "  File \"b.py\", line 2 in poll");
}

BOOST_AUTO_TEST_CASE(a_limited_number_of_threads_and_frames_of_gdb_is_kept) {
    std::string text = "warning: x\n#0  place where it was stopped\n\nThread 1 (LWP 9 \"a\"):\n";
    for (int i = 0; i < 100; ++i) text += "#" + std::to_string(i) + "  f ()\n";
    const auto frames = debugger_frames(text + "[Inferior 1 (process 9) detached]\n");
    BOOST_REQUIRE_EQUAL(frames.size(), 40u);
    BOOST_TEST(frames[0] == "Thread 1 (LWP 9 \"a\"):");
    BOOST_TEST(frames[1] == "#0  f ()");
    BOOST_TEST(frames.back() == "...");
    BOOST_TEST(debugger_frames("ptrace: Operation not permitted.\n").empty());
}

BOOST_AUTO_TEST_SUITE_END()

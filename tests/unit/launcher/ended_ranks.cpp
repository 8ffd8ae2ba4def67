// SPDX-License-Identifier: Apache-2.0
#include "launcher/pmix/workarounds.hpp"

#include <boost/test/unit_test.hpp>
#include <set>

using namespace batchai::launcher;
using namespace batchai::launcher::pmix;

BOOST_AUTO_TEST_SUITE(last_words)

namespace {

struct Node final : LastWords::Host {
    Loop loop;
    std::vector<std::uint64_t> closed;
    std::vector<int> judged;
    std::size_t heard_before_their_end = 0;
    LastWords words{loop, *this};

    std::vector<std::uint64_t> unheard() const override { return closed; }
    void hear() override { heard_before_their_end += words.empty() ? 0 : 1; }
    void judge(RankEnd end) override { judged.push_back(end.rank); }

    void end(int rank, bool asked = false) {
        RankEnd end;
        end.rank = rank;
        end.asked = asked;
        words.add(std::move(end));
    }
    // For a few rounds of the timer.
    void turn() {
        Timer stop(loop, [this] { loop.stop(); });
        stop.start(std::chrono::milliseconds(20));
        loop.run();
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(an_end_is_judged_at_once_where_nothing_is_unheard) {
    Node node;
    node.end(3);
    BOOST_TEST(node.judged == std::vector<int>{3}, boost::test_tools::per_element());
    BOOST_TEST(node.words.empty());
}

BOOST_AUTO_TEST_CASE(an_end_is_not_judged_before_the_rank_is_heard_out) {
    Node node;
    node.closed = {7};
    node.end(3);
    node.turn();
    BOOST_TEST(node.judged.empty());
    BOOST_TEST(!node.words.empty());
    node.closed = {8};  // of a rank that has gone on
    node.turn();
    BOOST_TEST(node.judged == std::vector<int>{3}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(ends_are_not_judged_out_of_turn) {
    Node node;
    node.closed = {7};
    node.end(3);
    node.closed = {7, 9};
    node.end(1);
    node.closed = {7};
    node.turn();
    BOOST_TEST(node.judged.empty());
    node.closed = {};
    node.turn();
    BOOST_TEST(node.judged == (std::vector<int>{3, 1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_node_is_not_done_while_the_last_rank_is_heard_out) {
    Node node;
    node.end(3);
    node.end(1);
    BOOST_TEST(node.judged.size() == 2U);
    BOOST_TEST(node.heard_before_their_end == 2U);
}

BOOST_AUTO_TEST_CASE(an_end_that_the_root_has_asked_for_does_not_wait) {
    Node node;
    node.closed = {7};
    node.end(2, true);
    BOOST_TEST(node.judged == std::vector<int>{2}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(stand_ins)

namespace {

struct Node final : StandIns::Host {
    explicit Node(std::chrono::milliseconds most = StandIns::kLimit) : limit(most) {}

    const std::chrono::milliseconds limit;
    Loop loop;
    bool others = true;
    std::vector<std::uint64_t> closed;
    std::vector<int> started, forgotten;
    std::set<pid_t> killed;
    StandIns stand_ins{loop, *this, limit};

    bool any_joined(int) const override { return others; }
    pid_t start_stand_in(int rank) override {
        started.push_back(rank);
        return 1000 + rank;
    }
    void kill_stand_in(pid_t pid) override { killed.insert(pid); }
    std::vector<std::uint64_t> unheard() const override { return closed; }
    void forget(int rank) override { forgotten.push_back(rank); }
    void turn(int milliseconds) {
        Timer stop(loop, [this] { loop.stop(); });
        stop.start(std::chrono::milliseconds(milliseconds));
        loop.run();
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(no_stand_in_runs_where_all_ranks_leave_together) {
    Node node;
    node.stand_ins.add(0);
    node.others = false;
    node.turn(700);
    BOOST_TEST(node.started.empty());
}

BOOST_AUTO_TEST_CASE(no_rank_is_forgotten_before_its_stand_in_is_gone_and_heard) {
    Node node;
    node.stand_ins.add(2);
    node.turn(700);
    node.closed = {5};
    node.stand_ins.reap(1002, false);
    node.turn(250);
    BOOST_TEST(node.forgotten.empty());
    node.closed = {};
    node.turn(250);
    BOOST_TEST(node.forgotten == std::vector<int>{2}, boost::test_tools::per_element());
    BOOST_TEST(node.started == std::vector<int>{2}, boost::test_tools::per_element());
    BOOST_TEST(node.stand_ins.stands_for(2));
    BOOST_TEST(!node.stand_ins.stands_for(4));
}

BOOST_AUTO_TEST_CASE(many_ranks_do_not_wait_for_one_stand_in_after_the_other_or_start_all_at_once) {
    Node node;
    for (int rank = 0; rank < StandIns::kMost + 2; ++rank) node.stand_ins.add(rank);
    node.turn(700);
    BOOST_TEST(node.started.size() == std::size_t{StandIns::kMost});
    node.stand_ins.reap(1003, false);
    node.stand_ins.reap(1005, false);
    node.turn(250);
    BOOST_TEST(node.started.size() == std::size_t{StandIns::kMost + 2});
    BOOST_TEST(node.killed.empty());
}

BOOST_AUTO_TEST_CASE(a_stand_in_that_does_not_end_is_killed_and_does_not_hold_up_the_others) {
    Node node(std::chrono::milliseconds(50));
    for (int rank = 0; rank < StandIns::kMost + 1; ++rank) node.stand_ins.add(rank);
    node.turn(900);
    BOOST_TEST(node.killed.contains(1000));
    BOOST_TEST(!node.killed.contains(1000 + StandIns::kMost));
    for (int rank = 0; rank < StandIns::kMost; ++rank) node.stand_ins.reap(1000 + rank, false);
    node.killed.clear();
    node.turn(250);
    BOOST_TEST(node.started.back() == StandIns::kMost);
    BOOST_TEST(!node.killed.contains(1000));
    BOOST_TEST(node.forgotten.size() == std::size_t{StandIns::kMost});
}

BOOST_AUTO_TEST_CASE(a_stand_in_that_fails_is_not_taken_for_one_that_has_connected) {
    Node node;
    node.stand_ins.add(2);
    node.turn(700);
    node.stand_ins.reap(1002, true);
    node.turn(250);
    BOOST_TEST(node.started == (std::vector<int>{2, 2}), boost::test_tools::per_element());
    BOOST_TEST(node.forgotten.empty());
    node.stand_ins.reap(1002, false);
    node.turn(250);
    BOOST_TEST(node.forgotten == std::vector<int>{2}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

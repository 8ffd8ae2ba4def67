// SPDX-License-Identifier: Apache-2.0
#include "launcher/pmix/workarounds.hpp"

#include <boost/test/unit_test.hpp>

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

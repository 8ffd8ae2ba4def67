// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/stand_ins.hpp"

#include <boost/test/unit_test.hpp>

using namespace batchai::launcher;

BOOST_AUTO_TEST_SUITE(stand_ins)

namespace {

struct Node {
    Loop loop;
    bool others = true;
    std::vector<std::uint64_t> unheard;
    std::vector<int> started, forgotten;
    StandIns stand_ins{
        loop,
        {[this] { return others; },
         [this](int rank) {
             started.push_back(rank);
             return 1000 + rank;
         },
         [this] { return unheard; }, [this](int rank) { forgotten.push_back(rank); }}};

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
    node.stand_ins.add(3);
    node.turn(700);
    BOOST_TEST(node.started == std::vector<int>{2}, boost::test_tools::per_element());  // in turn
    node.unheard = {5};
    node.stand_ins.reap(1002);
    node.turn(250);
    BOOST_TEST(node.forgotten.empty());
    node.unheard = {};
    node.turn(250);
    BOOST_TEST(node.forgotten == std::vector<int>{2}, boost::test_tools::per_element());
    BOOST_TEST(node.started == (std::vector<int>{2, 3}), boost::test_tools::per_element());
    BOOST_TEST(node.stand_ins.stands_for(2));
    BOOST_TEST(!node.stand_ins.stands_for(4));
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: Apache-2.0
#include "launcher/map.hpp"

#include <boost/test/unit_test.hpp>

using namespace batchai::launcher;

BOOST_AUTO_TEST_SUITE(map)

BOOST_AUTO_TEST_CASE(without_a_wish_there_is_one_rank_per_gpu) {
    const auto made = make_map({"a", "b", "c"}, {2, 0, 4}, {});
    BOOST_REQUIRE(made);
    BOOST_TEST(made->first == (std::vector<int>{0, 2, 3, 7}), boost::test_tools::per_element());
    BOOST_TEST(describe(*made, {2, 0, 4}, {}) == "one rank per GPU: 7 ranks on 3 nodes");
    BOOST_TEST(describe(*make_map({"a"}, {0}, {}), {0}, {}) ==
               "no GPUs, one rank per node: 1 rank on 1 node");
}

BOOST_AUTO_TEST_CASE(runs_of_equal_nodes_are_one_block_of_the_process_mapping) {
    BOOST_TEST(process_mapping({{"a", "b", "c"}, {0, 2, 4, 5}}) == "(vector,(0,2,2),(2,1,1))");
    BOOST_TEST(process_mapping({{"a", "b", "c"}, {0, 4, 4, 5}}) == "(vector,(0,1,4),(2,1,1))");
}

BOOST_AUTO_TEST_CASE(ranks_are_dealt_out_evenly_in_blocks) {
    RankRequest request;
    request.ranks = 7;
    const auto made = make_map({"a", "b", "c"}, {0, 0, 0}, request);
    BOOST_REQUIRE(made);
    BOOST_TEST(made->first == (std::vector<int>{0, 3, 5, 7}), boost::test_tools::per_element());
    BOOST_TEST(made->node_of(0) == 0);
    BOOST_TEST(made->node_of(2) == 0);
    BOOST_TEST(made->node_of(3) == 1);
    BOOST_TEST(made->node_of(6) == 2);
    BOOST_TEST(made->local_rank(6) == 1);
}

BOOST_AUTO_TEST_CASE(fewer_ranks_than_nodes_leave_nodes_empty) {
    RankRequest request;
    request.ranks = 1;
    const auto made = make_map({"a", "b"}, {0, 0}, request);
    BOOST_REQUIRE(made);
    BOOST_TEST(made->local_size(1) == 0);
    BOOST_TEST(made->node_of(0) == 0);
}

BOOST_AUTO_TEST_CASE(a_custom_toolkit_runs_on_the_first_node_only) {
    RankRequest request;
    request.first_node_only = true;
    const auto made = make_map({"a", "b"}, {4, 4}, request);
    BOOST_REQUIRE(made);
    BOOST_TEST(made->size() == 1);
}

BOOST_AUTO_TEST_CASE(no_ranks_and_no_nodes_are_refused) {
    RankRequest request;
    request.ranks = 0;
    BOOST_TEST(!make_map({"a"}, {0}, request).has_value());
    BOOST_TEST(!make_map({}, {}, {}).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

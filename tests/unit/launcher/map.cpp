// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/map.hpp"

#include <boost/test/unit_test.hpp>

#include "launcher/common/channel.hpp"
#include "sys/codec.hpp"

using namespace batchai;
using namespace batchai::launcher;

BOOST_AUTO_TEST_SUITE(map)

namespace {

std::vector<NodeSize> gpus(const std::vector<int>& counts) {
    std::vector<NodeSize> nodes;
    for (int count : counts) nodes.push_back({std::string(1, 'a' + nodes.size()), count, 8, 0});
    return nodes;
}

std::vector<int> sizes(const sys::Result<RankMap>& map) {
    std::vector<int> sizes;
    for (int n = 0; n < static_cast<int>(map->nodes.size()); ++n) {
        sizes.push_back(map->local_size(n));
    }
    return sizes;
}

std::vector<int> dealt(int ranks, const std::vector<NodeSize>& nodes) {
    return sizes(make_map(nodes, {.ranks = ranks}));
}

using Counts = std::vector<int>;

}  // namespace

BOOST_AUTO_TEST_CASE(one_rank_per_gpu_is_the_default) {
    const auto made = make_map(gpus({2, 0, 4}), {});
    BOOST_REQUIRE(made);
    BOOST_TEST(made->first == (std::vector<int>{0, 2, 3, 7}), boost::test_tools::per_element());
    BOOST_TEST(describe(*made, gpus({2, 0, 4})) == "one rank per GPU: 7 ranks on 3 nodes");
    BOOST_TEST(describe(*make_map(gpus({0}), {}), gpus({0})) ==
               "no GPUs, one rank per node: 1 rank on 1 node");
}

BOOST_AUTO_TEST_CASE(runs_of_equal_nodes_are_one_block_of_the_process_mapping) {
    BOOST_TEST(process_mapping({{"a", "b", "c"}, {0, 2, 4, 5}}) == "(vector,(0,2,2),(2,1,1))");
    BOOST_TEST(process_mapping({{"a", "b", "c"}, {0, 4, 4, 5}}) == "(vector,(0,1,4),(2,1,1))");
}

BOOST_AUTO_TEST_CASE(ranks_are_dealt_out_evenly_in_blocks) {
    RankRequest request;
    request.ranks = 7;
    const auto made = make_map(gpus({0, 0, 0}), request);
    BOOST_REQUIRE(made);
    BOOST_TEST(made->first == (std::vector<int>{0, 3, 5, 7}), boost::test_tools::per_element());
    BOOST_TEST(made->node_of(0) == 0);
    BOOST_TEST(made->node_of(2) == 0);
    BOOST_TEST(made->node_of(3) == 1);
    BOOST_TEST(made->node_of(6) == 2);
    BOOST_TEST(made->local_rank(6) == 1);
}

BOOST_AUTO_TEST_CASE(no_node_gets_more_than_it_has_room_for_while_others_have_some) {
    BOOST_TEST(dealt(6, gpus({4, 2})) == (Counts{4, 2}), boost::test_tools::per_element());
    BOOST_TEST(dealt(4, gpus({4, 2})) == (Counts{2, 2}), boost::test_tools::per_element());
    BOOST_TEST(dealt(12, gpus({4, 2})) == (Counts{8, 4}), boost::test_tools::per_element());
    BOOST_TEST(dealt(5, gpus({4, 0})) == (Counts{4, 1}), boost::test_tools::per_element());
    // Cores where there are no GPUs.
    BOOST_TEST(dealt(9, {{"a", 0, 1, 0}, {"b", 0, 4, 0}, {"c", 0, 4, 0}}) == (Counts{1, 4, 4}),
               boost::test_tools::per_element());
    // What Slurm was asked for, whatever there is.
    BOOST_TEST(dealt(7, {{"a", 4, 8, 2}, {"b", 4, 8, 2}, {"c", 4, 8, 2}, {"d", 4, 8, 1}}) ==
                   (Counts{2, 2, 2, 1}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(no_gpu_is_shared_while_another_one_has_no_rank) {
    // Slurm has placed three of four tasks on the first node.
    const std::vector<NodeSize> nodes = {{"a", 2, 8, 3}, {"b", 2, 8, 1}};
    BOOST_TEST(dealt(4, nodes) == (Counts{2, 2}), boost::test_tools::per_element());
    BOOST_TEST(sizes(make_map(nodes, {.ranks = 6, .ranks_per_gpu = 2})) == (Counts{3, 3}),
               boost::test_tools::per_element());
    BOOST_TEST(sizes(make_map(gpus({2, 1}), {.ranks = 6, .ranks_per_gpu = 2})) == (Counts{4, 2}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(several_ranks_per_gpu_may_be_asked_for) {
    const auto made = make_map(gpus({2, 0}), {.ranks_per_gpu = 3});
    BOOST_TEST(sizes(made) == (Counts{6, 1}), boost::test_tools::per_element());
    BOOST_TEST(describe(*made, gpus({2, 0}), 3) == "3 ranks per GPU: 7 ranks on 2 nodes");
}

BOOST_AUTO_TEST_CASE(without_gpus_there_are_as_many_ranks_as_slurm_was_asked_for) {
    const std::vector<NodeSize> nodes = {{"a", 0, 8, 3}, {"b", 0, 8, 1}};
    const auto made = make_map(nodes, {});
    BOOST_TEST(sizes(made) == (Counts{3, 1}), boost::test_tools::per_element());
    BOOST_TEST(describe(*made, nodes) ==
               "no GPUs, one rank per task of the allocation: 4 ranks on 2 nodes");
}

BOOST_AUTO_TEST_CASE(cyclic_ranks_go_round_the_nodes_that_have_places_left) {
    const auto made = make_map(gpus({3, 1, 2}), {.order = Order::cyclic});
    BOOST_REQUIRE(made);
    const std::vector<std::vector<int>> expected = {{0, 3, 5}, {1}, {2, 4}};
    for (int node = 0; node < 3; ++node) {
        BOOST_TEST(made->ranks_on(node) == expected[node], boost::test_tools::per_element());
        for (std::size_t local = 0; local < expected[node].size(); ++local) {
            BOOST_TEST(made->node_of(expected[node][local]) == node);
            BOOST_TEST(made->local_rank(expected[node][local]) == static_cast<int>(local));
        }
    }
    BOOST_TEST(process_mapping(*made) == "(vector,(0,3,1),(0,1,1),(2,1,1),(0,1,1))");
    BOOST_TEST(process_mapping(*make_map(gpus({2, 2}), {.order = Order::cyclic})) ==
               "(vector,(0,2,1),(0,2,1))");
}

BOOST_AUTO_TEST_CASE(a_map_is_not_changed_by_sending_it) {
    const auto made = make_map(gpus({3, 1, 2}), {.order = Order::cyclic});
    Writer writer;
    writer(*made);
    const std::string bytes = writer.take();
    Reader reader(bytes);
    RankMap read;
    BOOST_REQUIRE(decode(reader, read));
    BOOST_TEST(read.node_of(5) == 0);
    BOOST_TEST(read.ranks_on(2) == (Counts{2, 4}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(fewer_ranks_than_nodes_leave_nodes_empty) {
    RankRequest request;
    request.ranks = 1;
    const auto made = make_map(gpus({0, 0}), request);
    BOOST_REQUIRE(made);
    BOOST_TEST(made->local_size(1) == 0);
    BOOST_TEST(made->used_nodes() == 1);
    BOOST_TEST(made->node_of(0) == 0);
}

BOOST_AUTO_TEST_CASE(a_custom_toolkit_runs_on_the_first_node_only) {
    RankRequest request;
    request.first_node_only = true;
    const auto made = make_map(gpus({4, 4}), request);
    BOOST_REQUIRE(made);
    BOOST_TEST(made->size() == 1);
}

BOOST_AUTO_TEST_CASE(no_ranks_and_no_nodes_are_refused) {
    RankRequest request;
    request.ranks = 0;
    BOOST_TEST(!make_map(gpus({0}), request).has_value());
    BOOST_TEST(!make_map({}, {}).has_value());
}

BOOST_AUTO_TEST_CASE(ranks_that_are_added_in_turn_come_after_all_others_of_their_node) {
    RankMap map{{"n1", "n2"}, {0, 2, 3}};
    add_in_turn(map, 3);
    BOOST_TEST(map.size() == 6);
    BOOST_TEST(map.ranks_on(0) == (std::vector<int>{0, 1, 3, 5}), boost::test_tools::per_element());
    BOOST_TEST(map.ranks_on(1) == (std::vector<int>{2, 4}), boost::test_tools::per_element());
    BOOST_TEST(map.node_of(4) == 1);
    BOOST_TEST(map.local_rank(3) == 2);
    BOOST_TEST(map.used_nodes() == 2);
}

namespace {

std::optional<RankMap> sent(const RankMap& map) {
    return sys::decode_whole<RankMap>(sys::encode(map));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_map_arrives_as_it_was_sent) {
    std::vector<NodeSize> nodes;
    for (int n = 1; n <= 1024; ++n) nodes.push_back({"node" + std::to_string(n), 8, 8, 0});
    for (const Order order : {Order::block, Order::cyclic}) {
        const auto map = make_map(nodes, {.order = order});
        BOOST_REQUIRE(map);
        const auto arrived = sent(*map);
        BOOST_REQUIRE(arrived.has_value());
        BOOST_TEST(arrived->nodes == map->nodes);
        BOOST_TEST(arrived->first == map->first);
        BOOST_TEST(arrived->ranks == map->ranks);
        BOOST_TEST(arrived->places == map->places);
        if (order == Order::block) BOOST_TEST(sys::encode(*map).size() < 64U);
    }
}

BOOST_AUTO_TEST_CASE(a_map_whose_parts_do_not_fit_together_arrives_empty) {
    RankMap map{{"n1", "n2"}, {0, 2, 3}, {0, 2, 1}, {0, 2, 1}};
    BOOST_TEST(sent(map)->size() == 3);
    map.ranks = {0, 3, 1};
    BOOST_TEST(sent(map)->size() == 0);
    map.ranks = {0, 1, 1};
    BOOST_TEST(sent(map)->size() == 0);
    map.ranks = {0, 1};
    BOOST_TEST(sent(map)->size() == 0);
    sys::Writer writer;
    writer(std::string("n[1-2]"), std::string("2147483647(x2)"), std::vector<int>());
    BOOST_TEST(sys::decode_whole<RankMap>(writer.take())->size() == 0);
}

BOOST_AUTO_TEST_SUITE_END()

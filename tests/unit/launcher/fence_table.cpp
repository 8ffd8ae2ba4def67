// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/fence_table.hpp"

#include <boost/test/unit_test.hpp>
#include <numeric>

using namespace batchai::launcher;

BOOST_AUTO_TEST_SUITE(fence_table)

namespace {

const RankMap kMap{{"a", "b", "c"}, {0, 2, 4, 5}};
const std::vector<std::uint32_t> kAll{0, 1, 2, 3, 4, 5, 6};  // of all maps here

struct Root : FenceTable {
    Root() : FenceTable({3, 4}, kRoot) {}
};

Fence part(std::vector<std::uint32_t> procs, std::string data, int status = 0,
           std::uint64_t number = 0) {
    Fence fence;
    fence.id = {"", std::move(procs), number};
    fence.data = std::move(data);
    fence.status = status;
    return fence;
}

RankMap one_rank_each(int nodes) {
    RankMap map;
    map.nodes.resize(nodes);
    map.first.resize(nodes + 1);
    std::iota(map.first.begin(), map.first.end(), 0);
    return map;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_fence_over_all_waits_for_every_node) {
    Root table;
    BOOST_TEST(!table.add(2, part(kAll, "C"), kMap).has_value());
    BOOST_TEST(!table.add(0, part(kAll, "A"), kMap).has_value());
    BOOST_TEST(table.missing(kMap)->nodes == std::vector<int>{1}, boost::test_tools::per_element());
    const auto whole = table.add(1, part(kAll, "B"), kMap);
    BOOST_REQUIRE(whole.has_value());
    BOOST_TEST(whole->data == "ABC");
    BOOST_TEST(whole->status == 0);
    BOOST_TEST(!table.missing(kMap).has_value());
}

BOOST_AUTO_TEST_CASE(only_nodes_with_members_take_part) {
    Root table;
    BOOST_TEST(!table.add(0, part({1, 4}, "x"), kMap).has_value());
    const auto whole = table.add(2, part({1, 4}, "y"), kMap);
    BOOST_REQUIRE(whole.has_value());
    BOOST_TEST(whole->data == "xy");
    BOOST_TEST(table.branches(RankSet({1, 4}), kMap) == (std::vector<int>{0, 2}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(one_bad_status_fails_the_fence_for_all) {
    Root table;
    (void)table.add(0, part(kAll, ""), kMap);
    Fence bad = part(kAll, "", -25);
    bad.broken = {1};
    (void)table.add(1, bad, kMap);
    const auto whole = table.add(2, part(kAll, ""), kMap);
    BOOST_TEST(whole->status == -25);
    BOOST_TEST(whole->broken == std::vector<int>{1}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_fast_node_may_be_a_fence_ahead) {
    Root table;
    (void)table.add(0, part(kAll, "a1"), kMap);
    (void)table.add(0, part(kAll, "a2", 0, 1), kMap);
    (void)table.add(1, part(kAll, "b1"), kMap);
    BOOST_TEST(table.add(2, part(kAll, "c1"), kMap)->data == "a1b1c1");
    (void)table.add(2, part(kAll, "c2", 0, 1), kMap);
    BOOST_TEST(table.add(1, part(kAll, "b2", 0, 1), kMap)->data == "a2b2c2");
}

BOOST_AUTO_TEST_CASE(fences_of_pmix_and_pmi1_do_not_mix) {
    Root table;
    const auto pmi1 = [](std::string data) {
        Fence fence = part(kAll, std::move(data));
        fence.id.purpose = kPmi1;
        return fence;
    };
    (void)table.add(0, part(kAll, "x0"), kMap);
    (void)table.add(0, pmi1("1"), kMap);
    (void)table.add(1, pmi1("2"), kMap);
    (void)table.add(1, part(kAll, "x1"), kMap);
    const auto whole = table.add(2, pmi1("3"), kMap);
    BOOST_REQUIRE(whole.has_value());
    BOOST_TEST(whole->id.purpose == kPmi1);
    BOOST_TEST(whole->data == "123");
    BOOST_TEST(table.add(2, part(kAll, "x2"), kMap)->data == "x0x1x2");
}

BOOST_AUTO_TEST_CASE(a_rank_that_is_gone_blocks_the_fence_it_belongs_to) {
    Root table;
    (void)table.add(0, part({0, 2}, ""), kMap);
    BOOST_TEST(table.blocked_by({3, 4}, kMap) == -1);
    BOOST_TEST(table.blocked_by({4, 2}, kMap) == 2);
    BOOST_TEST(table.blocked_by({0}, kMap) == -1);  // it had arrived before it went
}

BOOST_AUTO_TEST_CASE(a_fence_does_not_wait_for_a_node_whose_ranks_have_all_left) {
    Root table;
    BOOST_TEST(table.leave(2, kMap).empty());  // before the fence
    BOOST_TEST(!table.add(0, part(kAll, "A"), kMap).has_value());
    BOOST_TEST(!table.add(2, part(kAll, "C"), kMap).has_value());
    const auto whole = table.leave(3, kMap);  // in it
    BOOST_REQUIRE(whole.size() == 1);
    BOOST_TEST(whole[0].data == "AC");
    BOOST_TEST(whole[0].status == 0);
    BOOST_TEST(!table.add(0, part(kAll, "A", 0, 1), kMap).has_value());  // the next one
    BOOST_TEST(table.missing(kMap)->nodes == std::vector<int>{2}, boost::test_tools::per_element());
    BOOST_TEST(table.add(2, part(kAll, "C", 0, 1), kMap)->data == "AC");
}

BOOST_AUTO_TEST_CASE(the_data_of_a_rank_that_has_left_is_not_lost) {
    Root table;
    (void)table.add(2, part(kAll, "C"), kMap);
    BOOST_TEST(table.leave(4, kMap).empty());
    (void)table.add(0, part(kAll, "A"), kMap);
    BOOST_TEST(table.add(1, part(kAll, "B"), kMap)->data == "ABC");
}

BOOST_AUTO_TEST_CASE(a_barrier_of_pmi1_and_a_group_do_not_succeed_without_a_member) {
    for (const std::string& purpose : {std::string(kPmi1), kConstruct + std::string("g")}) {
        Root table;
        Fence given = part({0, 4}, "");
        given.id.purpose = purpose;
        (void)table.add(0, given, kMap);
        const auto whole = table.leave(4, kMap);
        BOOST_REQUIRE(whole.size() == 1);
        BOOST_TEST(whole[0].status != 0);
    }
}

BOOST_AUTO_TEST_CASE(a_tree_has_every_node_once) {
    for (int radix : {2, 3, 4, 32}) {
        const Tree tree{70, radix};
        std::vector<int> seen(70, 0);
        for (int node = kRoot; node < 70; ++node) {
            for (int child : tree.children(node)) {
                BOOST_TEST(tree.parent(child) == node);
                BOOST_TEST(tree.branch(node, child) == child);
                BOOST_TEST(tree.is_below(node, child));
                ++seen[child];
            }
        }
        BOOST_TEST(seen == std::vector<int>(70, 1), boost::test_tools::per_element());
        BOOST_TEST(!tree.is_below(1, 0));
        BOOST_TEST(tree.is_below(1, 1));
    }
}

BOOST_AUTO_TEST_CASE(in_a_tree_each_place_waits_for_those_below_it) {
    const Tree tree{7, 2};  // root: 0 1; 0: 2 3; 1: 4 5; 2: 6
    const RankMap map = one_rank_each(7);
    FenceTable two(tree, 2), zero(tree, 0), root(tree, kRoot);
    BOOST_TEST(zero.branches(kAll, map) == (std::vector<int>{0, 2, 3}),
               boost::test_tools::per_element());
    (void)two.add(6, part(kAll, "6"), map);
    const auto of_two = two.add(2, part(kAll, "2"), map);
    BOOST_REQUIRE(of_two.has_value());
    (void)zero.add(2, *of_two, map);
    (void)zero.add(0, part(kAll, "0"), map);
    const auto of_zero = zero.add(3, part(kAll, "3"), map);
    BOOST_REQUIRE(of_zero.has_value());
    BOOST_TEST(!root.add(0, *of_zero, map).has_value());
    BOOST_TEST(root.missing(map)->nodes == (std::vector<int>{1, 4, 5}),
               boost::test_tools::per_element());
    BOOST_TEST(root.blocked_by({6}, map) == -1);
    BOOST_TEST(root.blocked_by({5}, map) == 5);
    const auto whole = root.add(1, part(kAll, "145"), map);
    BOOST_REQUIRE(whole.has_value());
    std::string letters = whole->data;
    std::sort(letters.begin(), letters.end());
    BOOST_TEST(letters == "0123456");
}

BOOST_AUTO_TEST_CASE(only_the_last_piece_of_a_fence_is_marked_as_last) {
    for (std::size_t size : {0U, 1U, 256U << 10, (256U << 10) + 1, 3U << 20}) {
        std::string data;
        int last = 0;
        in_pieces(part(kAll, std::string(size, 'x'), 3), 7, [&](const FenceDone& piece) {
            BOOST_TEST(last == 0);
            BOOST_TEST(piece.status == 3);
            BOOST_TEST(piece.serial == 7);
            data += piece.data;
            last += piece.last ? 1 : 0;
        });
        BOOST_TEST(data.size() == size);
        BOOST_TEST(last == 1);
    }
}

BOOST_AUTO_TEST_SUITE_END()

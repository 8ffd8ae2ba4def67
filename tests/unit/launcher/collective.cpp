// SPDX-License-Identifier: Apache-2.0
#include "launcher/collective.hpp"

#include <boost/test/unit_test.hpp>

using namespace batchai::launcher;

BOOST_AUTO_TEST_SUITE(collective)

namespace {

const RankMap kMap{{"a", "b", "c"}, {0, 2, 4, 5}};
const std::vector<std::uint32_t> kAll{0xfffffffe};

Fence part(std::vector<std::uint32_t> procs, std::string data, int status = 0) {
    Fence fence;
    fence.procs = std::move(procs);
    fence.data = std::move(data);
    fence.status = status;
    return fence;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_fence_over_all_waits_for_every_node) {
    FenceTable table;
    BOOST_TEST(!table.add(2, part(kAll, "C"), kMap).has_value());
    BOOST_TEST(!table.add(0, part(kAll, "A"), kMap).has_value());
    BOOST_TEST(table.missing()->nodes == std::vector<int>{1}, boost::test_tools::per_element());
    const auto complete = table.add(1, part(kAll, "B"), kMap);
    BOOST_REQUIRE(complete.has_value());
    BOOST_TEST(complete->done.data == "ABC");
    BOOST_TEST(complete->done.status == 0);
    BOOST_TEST(complete->nodes.size() == 3U);
    BOOST_TEST(!table.missing().has_value());
}

BOOST_AUTO_TEST_CASE(only_nodes_with_members_take_part) {
    FenceTable table;
    BOOST_TEST(!table.add(0, part({1, 4}, "x"), kMap).has_value());
    const auto complete = table.add(2, part({1, 4}, "y"), kMap);
    BOOST_REQUIRE(complete.has_value());
    BOOST_TEST(complete->done.data == "xy");
    BOOST_TEST(complete->nodes.size() == 2U);
}

BOOST_AUTO_TEST_CASE(one_bad_status_fails_the_fence_for_all) {
    FenceTable table;
    (void)table.add(0, part(kAll, ""), kMap);
    (void)table.add(1, part(kAll, "", -25), kMap);
    BOOST_TEST(table.add(2, part(kAll, ""), kMap)->done.status == -25);
}

BOOST_AUTO_TEST_CASE(a_fast_node_may_be_a_fence_ahead) {
    FenceTable table;
    (void)table.add(0, part(kAll, "a1"), kMap);
    (void)table.add(0, part(kAll, "a2"), kMap);
    (void)table.add(1, part(kAll, "b1"), kMap);
    BOOST_TEST(table.add(2, part(kAll, "c1"), kMap)->done.data == "a1b1c1");
    (void)table.add(2, part(kAll, "c2"), kMap);
    BOOST_TEST(table.add(1, part(kAll, "b2"), kMap)->done.data == "a2b2c2");
}

BOOST_AUTO_TEST_CASE(fences_of_pmix_and_pmi1_do_not_meet) {
    FenceTable table;
    const auto pmi1 = [](std::string data) {
        Fence fence = part(kAll, std::move(data));
        fence.pmi = Pmi::pmi1;
        return fence;
    };
    (void)table.add(0, part(kAll, "x0"), kMap);
    (void)table.add(0, pmi1("1"), kMap);
    (void)table.add(1, pmi1("2"), kMap);
    (void)table.add(1, part(kAll, "x1"), kMap);
    const auto complete = table.add(2, pmi1("3"), kMap);
    BOOST_REQUIRE(complete.has_value());
    BOOST_TEST((complete->done.pmi == Pmi::pmi1));
    BOOST_TEST(complete->done.data == "123");
    BOOST_TEST(table.add(2, part(kAll, "x2"), kMap)->done.data == "x0x1x2");
}

BOOST_AUTO_TEST_CASE(a_rank_that_is_gone_blocks_the_fence_it_belongs_to) {
    FenceTable table;
    (void)table.add(0, part({0, 2}, ""), kMap);
    BOOST_TEST(table.blocked_by({3, 4}, kMap) == -1);
    BOOST_TEST(table.blocked_by({4, 2}, kMap) == 2);
    BOOST_TEST(table.blocked_by({0}, kMap) == -1);  // it had arrived before it went
}

BOOST_AUTO_TEST_SUITE_END()

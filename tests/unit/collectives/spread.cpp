// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithm/spread.hpp"
#include "tests/unit/printing.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>

using namespace batchai::coll;

BOOST_AUTO_TEST_SUITE(spread)

BOOST_AUTO_TEST_CASE(every_node_is_reached_once_and_knows_from_whom) {
    for (const auto shape : {Spread::Shape::binomial, Spread::Shape::chain}) {
        for (int nodes = 1; nodes <= 40; ++nodes) {
            std::vector<int> reached(nodes);
            for (int position = 0; position < nodes; ++position) {
                Spread::for_children(shape, position, nodes, [&](int child) {
                    BOOST_TEST(Spread::parent(shape, child) == position);
                    ++reached[child];
                });
            }
            BOOST_TEST(reached[0] == 0);
            BOOST_TEST(std::count(reached.begin(), reached.end(), 1) == nodes - 1);
        }
    }
}

BOOST_AUTO_TEST_CASE(short_messages_take_few_hops_and_long_ones_are_sent_once) {
    BOOST_TEST(Spread::shape_for(Link(), 16, 8, 256 << 10) == Spread::Shape::binomial);
    BOOST_TEST(
        (Spread::shape_for(Link(), 16, std::size_t{1} << 30, 256 << 10) == Spread::Shape::chain));
}

BOOST_AUTO_TEST_SUITE_END()

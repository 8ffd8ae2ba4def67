// SPDX-License-Identifier: Apache-2.0
#include "collectives/common/topology.hpp"

#include <boost/test/unit_test.hpp>

using namespace batchai::coll;

BOOST_AUTO_TEST_SUITE(topology)

BOOST_AUTO_TEST_CASE(nodes_are_numbered_by_their_lowest_rank) {
    const auto topology = Topology::from_names(3, {"b", "a", "b", "a", "c", "b"});
    BOOST_TEST(topology.nodes() == 3);
    BOOST_TEST((topology.node_of == std::vector{0, 1, 0, 1, 2, 0}));
    BOOST_TEST((topology.local_of == std::vector{0, 0, 1, 1, 0, 2}));
    BOOST_TEST(topology.node() == 1);
    BOOST_TEST(topology.local_rank() == 1);
    BOOST_TEST(topology.local_size() == 2);
}

BOOST_AUTO_TEST_CASE(the_smallest_node_has_as_many_rails_as_ranks) {
    const auto unequal = Topology::from_names(0, {"a", "a", "a", "b", "b"});
    BOOST_TEST(unequal.rails() == 2);
    BOOST_TEST(unequal.largest_node() == 3);
    BOOST_TEST(unequal.rail_rank(1) == 3);
    BOOST_TEST(Topology::from_names(0, {"a"}).rails() == 1);
}

BOOST_AUTO_TEST_SUITE_END()

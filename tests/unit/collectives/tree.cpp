// SPDX-License-Identifier: Apache-2.0
#include "collectives/reduce/tree.hpp"

#include <batchai/collectives.h>

#include <boost/test/unit_test.hpp>
#include <vector>

using namespace batchai::coll;

namespace {
double combined(std::vector<double> values) {
    std::vector<std::byte*> blocks;
    for (double& value : values) blocks.push_back(reinterpret_cast<std::byte*>(&value));
    double out = 0;
    combine_tree(reduction_of(BATCHAI_COLL_FLOAT64, BATCHAI_COLL_SUM), blocks,
                 reinterpret_cast<std::byte*>(&out), 1);
    return out;
}
}  // namespace

BOOST_AUTO_TEST_SUITE(tree)

BOOST_AUTO_TEST_CASE(nodes_and_leaves_name_each_other) {
    for (int nodes = 1; nodes <= 70; ++nodes) {
        const Leaves leaves(nodes);
        for (int leaf = 0; leaf < leaves.count; ++leaf)
            BOOST_TEST(leaves.leaf_of(leaves.node_of(leaf)) == leaf);
        for (int node = 0; node < nodes; ++node) {
            const bool speaks = leaves.node_of(leaves.leaf_of(node)) == node;
            BOOST_TEST((speaks || (leaves.is_folded(node) && node % 2 == 1)));
        }
    }
}

BOOST_AUTO_TEST_CASE(the_order_is_that_of_the_tree) {
    const double a = 0.1, b = 0.7, c = 1e16, d = -1e16, e = 3.3;
    BOOST_TEST(combined({a}) == a);
    BOOST_TEST(combined({a, b, c}) == (a + b) + c);
    BOOST_TEST(combined({a, b, c, d}) == (a + b) + (c + d));
    BOOST_TEST(combined({a, b, c, d, e}) == ((a + b) + c) + (d + e));
}

BOOST_AUTO_TEST_SUITE_END()

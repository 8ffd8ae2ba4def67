// SPDX-License-Identifier: Apache-2.0
#include "collectives/reduce/tree.hpp"

#include <boost/test/unit_test.hpp>
#include <vector>

#include "numbers.hpp"

using namespace batchai::coll;
using namespace batchai::coll::test;

namespace {

// The sum of what the nodes have, `count` times.
template <class Type>
typename Type::Stored combined(const std::vector<typename Type::Stored>& numbers,
                               std::size_t count = 1, const Scale& scale = {}) {
    using Stored = typename Type::Stored;
    std::vector<std::vector<Stored>> nodes;
    for (const Stored number : numbers) nodes.emplace_back(count, number);
    std::vector<const std::byte*> blocks;
    for (const auto& node : nodes) {
        blocks.push_back(reinterpret_cast<const std::byte*>(node.data()));
    }
    std::vector<std::byte> scratch(tree_scratch_needed(static_cast<int>(nodes.size())));
    std::vector<Stored>& out = nodes.back();  // in place
    combine_tree(reduction_of(Type::kType, BATCHAI_COLL_SUM), blocks,
                 reinterpret_cast<std::byte*>(out.data()), count, scale, scratch.data());
    BOOST_TEST((out == std::vector<Stored>(count, out[0])));
    return out[0];
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
    const double a = 0.1, b = 0.7, c = 1e16, d = -1e16, e = 3.3, f = 7e15;
    for (const std::size_t count : {1, 5, 5000}) {
        const auto sum = [&](const std::vector<double>& numbers) {
            return combined<Float64>(numbers, count);
        };
        BOOST_TEST(sum({a}) == a);
        BOOST_TEST(sum({a, b}) == a + b);
        BOOST_TEST(sum({a, b, c}) == (a + b) + c);
        BOOST_TEST(sum({a, b, c, d}) == (a + b) + (c + d));
        BOOST_TEST(sum({a, b, c, d, e}) == ((a + b) + c) + (d + e));
        BOOST_TEST(sum({a, b, c, d, e, f}) == ((a + b) + (c + d)) + (e + f));
        BOOST_TEST(sum({a, b, c, d, e, f, a, b}) == ((a + b) + (c + d)) + ((e + f) + (a + b)));
    }
}

BOOST_AUTO_TEST_CASE(short_floats_are_rounded_once) {
    for_each_short([](auto type) {
        using Type = decltype(type);
        for (int nodes = 1; nodes <= 33; ++nodes) {
            std::vector<std::uint16_t> numbers;
            double sum = 0;  // exact
            for (int node = 0; node < nodes; ++node) {
                numbers.push_back(Type::write(node % 4 == 0 ? 3.0f : 0.0078125f));
                sum += Type::read(numbers.back());
            }
            for (const std::size_t count : {1, 3000}) {
                BOOST_TEST(combined<Type>(numbers, count) == Type::write(static_cast<float>(sum)));
                BOOST_TEST(combined<Type>(numbers, count, {1, 1, nodes}) ==
                           Type::write(static_cast<float>(sum) / static_cast<float>(nodes)));
            }
        }
    });
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: Apache-2.0
//
// Where numbers of 16 bits are rounded on their way through a whole allreduce, on jobs of many
// shapes: once where a node's ranks have been added up, once at the end.
#include <boost/test/unit_test.hpp>

#include "collectives/reduce/tree.hpp"
#include "numbers.hpp"
#include "ranks.hpp"

using namespace batchai::coll;
using namespace batchai::coll::test;

namespace {

constexpr float kBefore = 0.3f, kAfter = 1.7f;

float input(int rank, std::size_t i) {
    return static_cast<float>((i * 7 + static_cast<std::size_t>(rank) * 13) % 101) * 0.37f - 9;
}

// The canonical tree's sum of the nodes, as float32: ((n0 + n1) + n2) ... as tree.hpp says.
float tree(std::vector<float> nodes) {
    const Leaves leaves(static_cast<int>(nodes.size()));
    std::vector<float> sums;
    for (int leaf = 0; leaf < leaves.count; ++leaf) {
        const int node = leaves.node_of(leaf);
        sums.push_back(leaves.is_folded(node) ? nodes[node] + nodes[node + 1] : nodes[node]);
    }
    for (; sums.size() > 1; sums.resize(sums.size() / 2)) {
        for (std::size_t i = 0; i < sums.size() / 2; ++i) sums[i] = sums[2 * i] + sums[2 * i + 1];
    }
    return sums[0];
}

// The average of everybody's number i, scaled.
template <class Type>
std::uint16_t expected(const std::vector<int>& shape, std::size_t i) {
    std::vector<float> nodes;
    int rank = 0;
    for (const int ranks : shape) {
        float sum = 0;
        for (int r = 0; r < ranks; ++r, ++rank) {
            const float value = Type::read(Type::write(input(rank, i))) * kBefore;
            sum = r == 0 ? value : sum + value;
        }
        nodes.push_back(shape.size() == 1 ? sum : Type::read(Type::write(sum)));
    }
    return Type::write(tree(nodes) / static_cast<float>(rank) * kAfter);
}

template <class Type>
void check(Ranks& ranks, const std::vector<int>& shape, std::size_t count) {
    std::vector<std::vector<std::uint16_t>> data(ranks.size());
    std::vector<Call> calls(ranks.size());
    for (int r = 0; r < ranks.size(); ++r) {
        for (std::size_t i = 0; i < count; ++i) data[r].push_back(Type::write(input(r, i)));
        calls[r].signature = {.count = count,
                              .before = kBefore,
                              .after = kAfter,
                              .kind = Kind::allreduce,
                              .type = Type::kType,
                              .op = BATCHAI_COLL_AVERAGE};
        calls[r].receive = reinterpret_cast<std::byte*>(data[r].data());
        calls[r].send = calls[r].receive;
    }
    for (const auto status : ranks.run(calls)) BOOST_TEST(status == BATCHAI_COLL_OK);
    std::vector<std::uint16_t> wanted;
    for (std::size_t i = 0; i < count; ++i) wanted.push_back(expected<Type>(shape, i));
    for (const auto& result : data) BOOST_TEST((result == wanted));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(rounding)

BOOST_AUTO_TEST_CASE(is_done_once_in_a_node_and_once_at_the_end) {
    for (const std::vector<int>& shape : std::vector<std::vector<int>>{{1},
                                                                       {4},
                                                                       {1, 1},
                                                                       {2, 3},
                                                                       {3, 1, 2},
                                                                       {2, 2, 2, 2},
                                                                       {1, 4, 1, 1, 2},
                                                                       {1, 1, 1, 1, 1, 1, 1, 1}}) {
        Ranks ranks(shape);
        for (const std::size_t count : {1, 60, 5000}) {
            BOOST_TEST_CONTEXT("nodes " << shape.size() << " count " << count) {
                for_each_short([&](auto type) { check<decltype(type)>(ranks, shape, count); });
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

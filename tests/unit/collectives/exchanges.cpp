// SPDX-License-Identifier: Apache-2.0
//
// The algorithms that combine nodes' partial results: all of them, on any number of nodes, give the
// bits of the canonical tree.
#include <boost/test/unit_test.hpp>
#include <cstring>

#include "collectives/algorithm/direct.hpp"
#include "collectives/algorithm/halving_doubling.hpp"
#include "collectives/algorithm/recursive_doubling.hpp"
#include "memory_wire.hpp"
#include "numbers.hpp"

using namespace batchai::coll;
using namespace batchai::coll::test;

namespace {

using Partials = std::vector<std::vector<std::byte>>;  // by node

template <class Type>
Partials partials(int nodes, std::size_t count) {
    Partials result;
    for (int node = 0; node < nodes; ++node) {
        std::vector<std::byte>& partial =
            result.emplace_back(count * sizeof(typename Type::Stored));
        for (std::size_t i = 0; i < count; ++i) {
            // Small integers and fractions, of which sums in another order are others.
            const double value = (static_cast<double>(i % 97) - 48) * (node % 3 == 0 ? 0.37 : 2.9);
            const auto stored = Type::write(static_cast<typename Type::Value>(value));
            std::memcpy(partial.data() + i * sizeof stored, &stored, sizeof stored);
        }
    }
    return result;
}

std::vector<std::byte> in_tree_order(const Partials& partials, const Reduction& reduction,
                                     std::size_t count, const Scale& scale) {
    std::vector<const std::byte*> blocks;
    for (const auto& partial : partials) blocks.push_back(partial.data());
    std::vector<std::byte> out(partials[0].size()),
        scratch(tree_scratch_needed(static_cast<int>(partials.size())));
    combine_tree(reduction, blocks, out.data(), count, scale, scratch.data());
    return out;
}

// Runs the exchange on all nodes, in turn; leaves the result in the partials.
template <class Algorithm>
void run(Partials& partials, const Reduction& reduction, std::size_t count, const Scale& scale) {
    const int nodes = static_cast<int>(partials.size());
    Network network(nodes, 7);
    std::vector<std::unique_ptr<MemoryWire>> wires;
    for (int node = 0; node < nodes; ++node) {
        wires.push_back(std::make_unique<MemoryWire>(network, node));
    }
    const Tag tag = Tag::of(1, {});
    std::vector<Algorithm> algorithms(nodes);
    Partials scratch(nodes);
    std::vector<bool> done(nodes);
    for (int node = 0; node < nodes; ++node) {
        if constexpr (std::is_same_v<Algorithm, Direct>) {
            scratch[node].resize(Direct::scratch_needed(nodes, partials[node].size()));
        } else {
            scratch[node].resize(Folded::scratch_needed(nodes, partials[node].size()));
        }
        algorithms[node].start(*wires[node], tag, 0, node, nodes, reduction, scale,
                               partials[node].data(), scratch[node].data(), count);
    }
    for (int step = 0; step < 10000 && std::count(done.begin(), done.end(), false) > 0; ++step) {
        for (int node = 0; node < nodes; ++node) {
            wires[node]->progress();
            if (!done[node]) done[node] = algorithms[node].step();
        }
    }
    BOOST_TEST(std::count(done.begin(), done.end(), false) == 0);
}

template <class Type>
void check(int nodes, std::size_t count, batchai_coll_op op, const Scale& scale) {
    const Reduction reduction = reduction_of(Type::kType, op);
    Partials direct = partials<Type>(nodes, count), doubling = direct, halving = direct;
    const std::vector<std::byte> wanted = in_tree_order(direct, reduction, count, scale);
    run<Direct>(direct, reduction, count, scale);
    run<RecursiveDoubling>(doubling, reduction, count, scale);
    run<HalvingDoubling>(halving, reduction, count, scale);
    BOOST_TEST_CONTEXT("nodes " << nodes << " count " << count << " type " << Type::kType) {
        BOOST_TEST((direct == Partials(nodes, wanted)));
        BOOST_TEST((doubling == Partials(nodes, wanted)));
        BOOST_TEST((halving == Partials(nodes, wanted)));
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(exchanges)

BOOST_AUTO_TEST_CASE(all_algorithms_give_the_bits_of_the_canonical_tree) {
    for (const int nodes : {2, 3, 4, 5, 6, 7, 8, 9, 16, 23}) {
        for (const std::size_t count : {1, 13, 1500, 5000}) {
            for_each_float([&](auto type) {
                check<decltype(type)>(nodes, count, BATCHAI_COLL_SUM, {});
                check<decltype(type)>(nodes, count, BATCHAI_COLL_AVERAGE, {1, 0.7, nodes});
            });
            check<Int64>(nodes, count, BATCHAI_COLL_AVERAGE, {1, 1, nodes});
        }
    }
}

// Few messages at once for few bytes, few bytes for many.
BOOST_AUTO_TEST_CASE(short_messages_go_by_recursive_doubling_and_long_ones_directly) {
    const Reduction half = reduction_of(BATCHAI_COLL_FLOAT16, BATCHAI_COLL_SUM);
    const auto direct = [&](int nodes, std::size_t count) {
        return Direct::cost(Link(), nodes, half, count) <
               RecursiveDoubling::cost(Link(), nodes, half, count);
    };
    for (const int nodes : {4, 8, 16, 32}) {
        BOOST_TEST(!direct(nodes, 4));
        BOOST_TEST(direct(nodes, 100000));
    }
    BOOST_TEST(!direct(2, 100000));  // as many bytes, in one message less
}

BOOST_AUTO_TEST_SUITE_END()

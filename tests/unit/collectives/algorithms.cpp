// SPDX-License-Identifier: Apache-2.0
//
// The algorithms between nodes: right results whichever is taken, and the same bits.
#include <bit>
#include <boost/test/unit_test.hpp>
#include <cstring>

#include "ranks.hpp"
#include "tests/unit/printing.hpp"

using namespace batchai::coll;

namespace {

const std::vector<std::vector<int>> kNodes = {
    {1, 1}, {1, 1, 1}, {2, 2, 2, 2}, {1, 2, 1, 1, 2}, {1, 1, 1, 1, 1, 1, 1}};

using Bytes = std::vector<std::byte>;

// The result of an allreduce of the first `count` numbers of each rank's data, on rank 0, after a
// check that all ranks have it.
Bytes allreduced(Ranks& ranks, const std::vector<Bytes>& data, std::uint8_t type, std::uint8_t op,
                 std::size_t count) {
    Signature signature;
    signature.kind = Kind::allreduce;
    signature.type = type;
    signature.op = op;
    signature.count = count;
    std::vector<Bytes> results(data.size(), Bytes(bytes_of(signature)));
    std::vector<Call> calls;
    for (std::size_t r = 0; r < data.size(); ++r) {
        calls.push_back({signature, data[r].data(), results[r].data()});
    }
    for (const auto status : ranks.run(calls)) BOOST_TEST(status == BATCHAI_COLL_OK);
    for (const Bytes& result : results) BOOST_TEST((result == results[0]));
    return results[0];
}

// Numbers of float32, or their upper halves, which are bfloat16.
std::vector<Bytes> random_floats(int ranks, std::size_t count, bool upper_halves) {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> value(-1000, 1000);
    const std::size_t size = upper_halves ? 2 : 4;
    std::vector<Bytes> data(ranks, Bytes(count * size));
    for (Bytes& bytes : data) {
        for (std::size_t i = 0; i < count; ++i) {
            const auto bits = std::bit_cast<std::uint32_t>(value(random)) >> (32 - 8 * size);
            std::memcpy(bytes.data() + i * size, &bits, size);
        }
    }
    return data;
}

Bytes first(const Bytes& bytes, std::size_t count) {
    return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(algorithms)

BOOST_AUTO_TEST_CASE(add_up_on_any_number_of_nodes) {
    for (const auto& nodes : kNodes) {
        for (const Algorithm& algorithm : batchai::coll::algorithms()) {
            Ranks ranks(nodes, 3, &algorithm);
            for (const std::size_t count : {1, 3, 100, 1700}) {
                std::vector<Bytes> data(ranks.size(), Bytes(count * sizeof(std::int32_t)));
                Bytes expected(count * sizeof(std::int32_t));
                for (std::size_t i = 0; i < count; ++i) {
                    std::int32_t sum = 0;
                    for (int r = 0; r < ranks.size(); ++r) {
                        const auto number = static_cast<std::int32_t>(i * 31 + r * r);
                        std::memcpy(data[r].data() + i * sizeof number, &number, sizeof number);
                        sum += number;
                    }
                    std::memcpy(expected.data() + i * sizeof sum, &sum, sizeof sum);
                }
                const Bytes result =
                    allreduced(ranks, data, BATCHAI_COLL_INT32, BATCHAI_COLL_SUM, count);
                BOOST_TEST(result == expected,
                           algorithm.name << " on " << nodes.size() << " nodes, " << count);
            }
            BOOST_TEST(ranks.left_over() == 0u);
        }
    }
}

BOOST_AUTO_TEST_CASE(every_algorithm_gives_the_same_bits) {
    constexpr std::size_t kCount = 1500;
    for (const auto& nodes : kNodes) {
        const int size = std::accumulate(nodes.begin(), nodes.end(), 0);
        for (const auto type : {BATCHAI_COLL_FLOAT32, BATCHAI_COLL_BFLOAT16}) {
            const std::vector<Bytes> data =
                random_floats(size, kCount, type == BATCHAI_COLL_BFLOAT16);
            for (const auto op : {BATCHAI_COLL_SUM, BATCHAI_COLL_AVERAGE, BATCHAI_COLL_PRODUCT}) {
                Bytes expected;
                for (const Algorithm& algorithm : batchai::coll::algorithms()) {
                    Ranks ranks(nodes, 5, &algorithm);
                    const Bytes whole = allreduced(ranks, data, type, op, kCount);
                    if (expected.empty()) expected = whole;
                    BOOST_TEST(whole == expected, algorithm.name << " on " << nodes.size());
                    for (const std::size_t count : {1, 70, 1025}) {
                        const Bytes part = allreduced(ranks, data, type, op, count);
                        BOOST_TEST((part == first(expected, part.size())),
                                   algorithm.name << " on " << nodes.size() << ", " << count);
                    }
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(cost_what_their_formulas_say) {
    const Link link{1e-5, 1e-9, 1e-6};
    const Reduction reduction = reduction_of(BATCHAI_COLL_FLOAT32, BATCHAI_COLL_SUM);
    const std::size_t count = 1'000'000;
    const double m = 4e-3;  // 4 MB at a nanosecond a byte
    const auto cost = [&](const char* name, int nodes) {
        return Planner(link, nodes, nullptr)
            .predict(*algorithm_of(name), reduction, {count, count, 1});
    };
    const auto close = boost::test_tools::tolerance(1e-6);
    BOOST_TEST(cost("recursive-doubling", 8) == 3 * (1.1e-5 + m), close);
    BOOST_TEST(cost("halving-doubling", 8) == 6 * 1.1e-5 + 1.75 * m, close);
    BOOST_TEST(cost("direct", 8) == 2 * 1e-5 + 14 * 1e-6 + 1.75 * m, close);
    BOOST_TEST(cost("recursive-doubling", 5) == 4 * (1.1e-5 + m), close);
}

BOOST_AUTO_TEST_CASE(are_chosen_by_cost_or_by_name) {
    const Link link{1e-5, 1e-9, 1e-6};
    const Reduction reduction = reduction_of(BATCHAI_COLL_FLOAT32, BATCHAI_COLL_SUM);
    const auto choice = [&](int nodes, std::size_t count, const Algorithm* named = nullptr) {
        return std::string(Planner(link, nodes, named).choose(reduction, {count, 32'768, 2}).name);
    };
    BOOST_TEST(choice(2, 2) == "recursive-doubling");
    BOOST_TEST(choice(8, 50'000) == "direct");
    BOOST_TEST(choice(512, 50'000) == "halving-doubling");
    BOOST_TEST(choice(512, 2, algorithm_of("direct")) == "direct");
}

// Chunks follow each other: of a long message only the bytes count, however late they arrive.
BOOST_AUTO_TEST_CASE(are_chosen_for_the_whole_message) {
    const Link link{1e-4, 1e-10, 0};
    const Reduction reduction = reduction_of(BATCHAI_COLL_FLOAT32, BATCHAI_COLL_SUM);
    const auto choice = [&](std::size_t count) {
        return std::string(Planner(link, 16, nullptr).choose(reduction, {count, 32'768, 4}).name);
    };
    BOOST_TEST(choice(100) != "recursive-doubling");
    BOOST_TEST(choice(100'000'000) == "direct");
    const Planner planner(link, 16, nullptr);
    const double few = planner.predict(*algorithm_of("direct"), reduction, {32'768, 32'768, 4});
    const double many = planner.predict(*algorithm_of("direct"), reduction, {327'680, 32'768, 4});
    BOOST_TEST(many < 2 * few);
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: Apache-2.0
//
// Every operation, on jobs of many shapes, in random interleavings, against what it should give.
#include <boost/test/unit_test.hpp>

#include "ranks.hpp"
#include "trial.hpp"

using namespace batchai::coll;

namespace {

const std::vector<std::vector<int>> kShapes = {
    {1}, {2}, {4}, {1, 1}, {2, 2}, {1, 1, 1}, {2, 3}, {3, 1, 2}, {2, 2, 2, 2}, {1, 4, 1, 1, 2}};

void try_task(Ranks& ranks, const Task& task, std::size_t count) {
    std::vector<std::unique_ptr<Trial>> trials;
    std::vector<Call> calls;
    for (int r = 0; r < ranks.size(); ++r) {
        trials.push_back(std::make_unique<Trial>(task, r, ranks.size(), count));
        calls.push_back(trials.back()->call());
    }
    const auto statuses = ranks.run(calls);
    BOOST_TEST_CONTEXT(describe(calls[0].signature)) {
        for (int r = 0; r < ranks.size(); ++r) {
            BOOST_TEST(statuses[r] == BATCHAI_COLL_OK);
            BOOST_TEST(trials[r]->right(), "the result of rank " << r);
        }
        BOOST_TEST(ranks.left_over() == 0u);
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(operations)

BOOST_AUTO_TEST_CASE(give_the_right_result_on_jobs_of_every_shape) {
    for (const auto& shape : kShapes) {
        for (unsigned seed = 1; seed <= 3; ++seed) {
            Ranks ranks(shape, seed);
            BOOST_TEST_CONTEXT("nodes " << shape.size() << ", ranks " << ranks.size() << ", seed "
                                        << seed) {
                for (const std::size_t count : {0, 1, 5, 64, 600, 3000}) {
                    for (const Task& task : kTasks) try_task(ranks, task, count);
                }
            }
        }
    }
}

// Slots are as small as blocks for all ranks allow.
BOOST_AUTO_TEST_CASE(give_the_right_result_on_64_nodes_of_8_ranks) {
    Ranks ranks(std::vector<int>(64, 8), 1, {}, kAlignment * 64 * 8);
    for (const Kind kind : {Kind::allreduce, Kind::broadcast, Kind::allgather, Kind::reduce_scatter,
                            Kind::alltoall}) {
        try_task(ranks, {kind}, 5);
    }
    try_task(ranks, {Kind::allreduce}, 9000);
}

BOOST_AUTO_TEST_SUITE_END()

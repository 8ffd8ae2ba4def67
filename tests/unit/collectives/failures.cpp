// SPDX-License-Identifier: Apache-2.0
//
// A job whose network breaks, or whose ranks disagree: every rank gets the error, none waits on.
#include <boost/test/unit_test.hpp>

#include <thread>

#include "ranks.hpp"

using namespace batchai::coll;

namespace {

Call sum(std::vector<std::int32_t>& data) {
    Call call;
    call.signature.kind = Kind::allreduce;
    call.signature.type = BATCHAI_COLL_INT32;
    call.signature.count = data.size();
    call.receive = reinterpret_cast<std::byte*>(data.data());
    call.send = call.receive;
    return call;
}

std::vector<Call> sums(std::vector<std::vector<std::int32_t>>& data) {
    std::vector<Call> calls;
    for (auto& of_rank : data) calls.push_back(sum(of_rank));
    return calls;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(failures)

BOOST_AUTO_TEST_CASE(all_ranks_are_told_when_a_node_is_cut_off) {
    for (const auto& nodes : std::vector<std::vector<int>>{{1, 1}, {2, 2, 2}, {1, 3, 2}}) {
        for (const std::size_t step : {20, 200, 400}) {
            Ranks ranks(nodes, static_cast<unsigned>(step));
            std::vector<std::vector<std::int32_t>> data(ranks.size(),
                                                        std::vector<std::int32_t>(1'000'000, 1));
            const auto statuses = ranks.run(sums(data), Ranks::Cut{1, step});
            for (int r = 0; r < ranks.size(); ++r) {
                BOOST_TEST(statuses[r] == BATCHAI_COLL_ERR_PEER);
                BOOST_TEST(ranks.engine(r).failure().sentence.find("lost the connection to rank") !=
                           std::string::npos);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_rank_that_calls_another_operation_is_named_on_all_ranks) {
    for (const auto& nodes : std::vector<std::vector<int>>{{3}, {1, 1}, {2, 2, 2}, {1, 3, 2}}) {
        Ranks ranks(nodes, 3);
        std::vector<std::vector<std::int32_t>> data(ranks.size(), std::vector<std::int32_t>(9, 1));
        const int odd = ranks.size() - 1;
        data[odd].push_back(1);
        const auto statuses = ranks.run(sums(data));
        for (int r = 0; r < ranks.size(); ++r) {
            const std::string& sentence = ranks.engine(r).failure().sentence;
            BOOST_TEST(statuses[r] == BATCHAI_COLL_ERR_MISMATCH);
            BOOST_TEST(sentence.find("rank " + std::to_string(odd) +
                                     " calls allreduce (sum) of 10 int32") != std::string::npos,
                       sentence);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_rank_that_may_only_see_the_consequences_waits_for_a_better_word) {
    using namespace std::chrono_literals;
    const Failure cause{BATCHAI_COLL_ERR_PEER, "rank 7 has ended"};
    const Failure consequence{BATCHAI_COLL_ERR_SYSTEM, "rank 1: a device's error"};
    {
        Ranks ranks({2}, 1, {}, 4096, 20s);
        std::thread later([&] {
            std::this_thread::sleep_for(50ms);
            ranks.engine(0).fail(cause, true);
        });
        ranks.engine(1).fail_unless_reported(consequence);
        later.join();
        BOOST_TEST(ranks.engine(1).failure().sentence == cause.sentence);
    }
    {
        Ranks ranks({2}, 1, {}, 4096, 50ms);
        ranks.engine(1).fail_unless_reported(consequence);
        BOOST_TEST(ranks.engine(1).failure().sentence == consequence.sentence);
        BOOST_TEST(ranks.engine(0).has_failed());
        BOOST_TEST(ranks.engine(0).failure().sentence == consequence.sentence);
    }
}

BOOST_AUTO_TEST_SUITE_END()

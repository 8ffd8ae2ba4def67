// SPDX-License-Identifier: Apache-2.0
//
// Every operation, on jobs of many shapes, in random interleavings, against what it should give.
#include <boost/test/unit_test.hpp>
#include <cstring>

#include "ranks.hpp"

using namespace batchai::coll;

namespace {

using Numbers = std::vector<std::int64_t>;

const std::vector<std::vector<int>> kShapes = {
    {1}, {2}, {4}, {1, 1}, {2, 2}, {1, 1, 1}, {2, 3}, {3, 1, 2}, {2, 2, 2, 2}, {1, 4, 1, 1, 2}};

std::int64_t number(int rank, std::size_t i) {
    return static_cast<std::int64_t>((i * 7 + static_cast<std::size_t>(rank) * 13) % 101) - 50;
}

std::byte* bytes(Numbers& numbers) {
    return reinterpret_cast<std::byte*>(numbers.data());
}

// What each rank sends and gets, and should get, and the calls.
struct Trial {
    Ranks& ranks;
    std::vector<Numbers> send, receive, expected;
    std::vector<std::vector<std::size_t>> counts, receive_counts;
    std::vector<Call> calls;

    explicit Trial(Ranks& job)
        : ranks(job),
          send(job.size()),
          receive(job.size()),
          expected(job.size()),
          counts(job.size()),
          receive_counts(job.size()),
          calls(job.size()) {}

    void fill(int rank, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) send[rank].push_back(number(rank, i));
    }
    void call(int rank, Kind kind, std::size_t count) {
        Signature& signature = calls[rank].signature;
        signature.kind = kind;
        signature.count = count;
        signature.type = BATCHAI_COLL_INT64;
        receive[rank].assign(expected[rank].size(), -1);
        calls[rank].send = bytes(send[rank]);
        calls[rank].receive = bytes(receive[rank]);
        calls[rank].counts = counts[rank];
        calls[rank].receive_counts = receive_counts[rank];
    }
    void check() {
        const std::vector<Numbers> before = send;
        for (const auto status : ranks.run(calls)) BOOST_TEST(status == BATCHAI_COLL_OK);
        BOOST_TEST_CONTEXT(describe(calls[0].signature)) {
            BOOST_TEST((receive == expected));
        }
        BOOST_TEST((send == before));
        BOOST_TEST(ranks.left_over() == 0u);
    }
};

// Lengths of blocks that differ, some of them nothing.
std::size_t uneven(int rank, std::size_t count) {
    return rank % 3 == 1 ? 0 : count / (static_cast<std::size_t>(rank) % 4 + 1);
}

void try_allreduce(Ranks& ranks, std::size_t count) {
    Trial trial(ranks);
    Numbers sum(count);
    for (int r = 0; r < ranks.size(); ++r) {
        trial.fill(r, count);
        for (std::size_t i = 0; i < count; ++i) sum[i] += number(r, i);
    }
    for (int r = 0; r < ranks.size(); ++r) {
        trial.expected[r] = sum;
        trial.call(r, Kind::allreduce, count);
    }
    trial.check();
}

void try_reduce(Ranks& ranks, std::size_t count) {
    Trial trial(ranks);
    const int root = ranks.size() / 2;
    for (int r = 0; r < ranks.size(); ++r) {
        trial.fill(r, count);
        if (r == root) trial.expected[r].assign(count, 0);
        for (int from = 0; r == root && from < ranks.size(); ++from) {
            for (std::size_t i = 0; i < count; ++i) trial.expected[r][i] += number(from, i);
        }
        trial.call(r, Kind::reduce, count);
        trial.calls[r].signature.root = root;
        if (r != root) trial.calls[r].receive = nullptr;
    }
    trial.check();
}

void try_broadcast(Ranks& ranks, std::size_t count) {
    Trial trial(ranks);
    const int root = ranks.size() - 1;
    for (int r = 0; r < ranks.size(); ++r) {
        trial.fill(r, count);
        for (std::size_t i = 0; i < count; ++i) trial.expected[r].push_back(number(root, i));
        trial.call(r, Kind::broadcast, count);
        trial.calls[r].signature.root = root;
        if (r == root) trial.receive[r] = trial.send[r];
        if (r == root) trial.calls[r].send = trial.calls[r].receive = bytes(trial.receive[r]);
    }
    trial.check();
}

void try_allgather(Ranks& ranks, std::size_t count, bool even) {
    Trial trial(ranks);
    Numbers all;
    std::vector<std::size_t> counts;
    for (int r = 0; r < ranks.size(); ++r) {
        counts.push_back(even ? count : uneven(r, count));
        trial.fill(r, counts[r]);
        all.insert(all.end(), trial.send[r].begin(), trial.send[r].end());
    }
    for (int r = 0; r < ranks.size(); ++r) {
        trial.expected[r] = all;
        if (!even) trial.counts[r] = counts;
        trial.call(r, Kind::allgather, even ? count : all.size());
    }
    trial.check();
}

void try_reduce_scatter(Ranks& ranks, std::size_t count, bool even) {
    Trial trial(ranks);
    std::vector<std::size_t> counts;
    for (int r = 0; r < ranks.size(); ++r) counts.push_back(even ? count : uneven(r, count));
    const std::size_t all = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
    std::size_t at = 0;
    for (int r = 0; r < ranks.size(); ++r) {
        trial.fill(r, all);
        for (std::size_t i = 0; i < counts[r]; ++i, ++at) {
            std::int64_t sum = 0;
            for (int from = 0; from < ranks.size(); ++from) sum += number(from, at);
            trial.expected[r].push_back(sum);
        }
        if (!even) trial.counts[r] = counts;
        trial.call(r, Kind::reduce_scatter, even ? count : all);
    }
    trial.check();
}

void try_alltoall(Ranks& ranks, std::size_t count) {
    Trial trial(ranks);
    const auto all = count * static_cast<std::size_t>(ranks.size());
    for (int r = 0; r < ranks.size(); ++r) {
        trial.fill(r, all);
        for (int from = 0; from < ranks.size(); ++from) {
            for (std::size_t i = 0; i < count; ++i) {
                trial.expected[r].push_back(number(from, count * static_cast<std::size_t>(r) + i));
            }
        }
        trial.call(r, Kind::alltoall, count);
    }
    trial.check();
}

void try_alltoallv(Ranks& ranks, std::size_t count) {
    Trial trial(ranks);
    const auto length = [&](int from, int to) { return uneven(from * 5 + to, count); };
    for (int r = 0; r < ranks.size(); ++r) {
        for (int other = 0; other < ranks.size(); ++other) {
            trial.counts[r].push_back(length(r, other));
            trial.receive_counts[r].push_back(length(other, r));
            std::size_t at = 0;
            for (int to = 0; to < r; ++to) at += length(other, to);
            for (std::size_t i = 0; i < length(other, r); ++i) {
                trial.expected[r].push_back(number(other, at + i));
            }
        }
        trial.fill(r,
                   std::accumulate(trial.counts[r].begin(), trial.counts[r].end(), std::size_t{0}));
        trial.call(r, Kind::alltoallv, 0);
    }
    trial.check();
}

void try_all(Ranks& ranks, std::size_t count) {
    try_allreduce(ranks, count);
    try_reduce(ranks, count);
    try_broadcast(ranks, count);
    try_allgather(ranks, count, true);
    try_allgather(ranks, count, false);
    try_reduce_scatter(ranks, count, true);
    try_reduce_scatter(ranks, count, false);
    try_alltoall(ranks, count);
    try_alltoallv(ranks, count);
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
                    BOOST_TEST_CONTEXT("count " << count) {
                        try_all(ranks, count);
                    }
                }
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

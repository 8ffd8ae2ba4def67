// SPDX-License-Identifier: Apache-2.0
//
// Every operation, on jobs of many shapes, in random interleavings, against what it should give.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>

#include "ranks.hpp"
#include "trial.hpp"

using namespace batchai::coll;

namespace {

const std::vector<std::vector<int>> kShapes = {
    {1}, {2}, {4}, {1, 1}, {2, 2}, {1, 1, 1}, {2, 3}, {3, 1, 2}, {2, 2, 2, 2}, {1, 4, 1, 1, 2}};

// memory: by rank, for its buffers.
void try_task(Ranks& ranks, const Task& task, std::size_t count,
              const std::vector<std::pmr::memory_resource*>& memory = {}) {
    std::vector<std::unique_ptr<Trial>> trials;
    std::vector<Call> calls;
    for (int r = 0; r < ranks.size(); ++r) {
        auto* own = memory.empty() ? std::pmr::get_default_resource() : memory[r];
        trials.push_back(std::make_unique<Trial>(task, r, ranks.size(), count, own));
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

// The same with buffers that all ranks of the node can address: on all ranks, or on some.
void try_shared(Ranks& ranks, const Task& task, std::size_t count, unsigned which) {
    static constexpr std::size_t kBytes = 4u << 20;
    std::vector<std::unique_ptr<std::pmr::monotonic_buffer_resource>> shared;
    std::vector<std::pmr::memory_resource*> chosen;
    for (std::byte* own : ranks.share(kBytes)) {
        shared.push_back(std::make_unique<std::pmr::monotonic_buffer_resource>(
            own, kBytes, std::pmr::null_memory_resource()));
        const bool is_shared = (which >> chosen.size() & 1) != 0;
        chosen.push_back(is_shared ? shared.back().get() : std::pmr::get_default_resource());
    }
    try_task(ranks, task, count, chosen);
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

// Also if a block is a little longer than what slots take at a time.
BOOST_AUTO_TEST_CASE(alltoalls_send_little_besides_their_data) {
    for (const std::size_t count : {1, 100, 130, 256, 300, 3000}) {
        BOOST_TEST_CONTEXT("count " << count) {
            Ranks ranks({2, 2});
            try_task(ranks, {Kind::alltoall}, count);
            const std::size_t data = 8 * count * sizeof(std::int64_t);  // of 8 pairs of ranks
            BOOST_TEST(ranks.sent() >= data);
            BOOST_TEST(ranks.sent() <= data + data / 50 + 800);
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

// Long ones, and in place short ones too, are read and written where they are.
BOOST_AUTO_TEST_CASE(take_buffers_where_all_ranks_of_a_node_can_address_them) {
    const std::vector<Task> tasks = {{Kind::allreduce},        {Kind::allreduce, true, true},
                                     {Kind::broadcast},        {Kind::allgather},
                                     {Kind::allgather, false}, {Kind::alltoall}};
    for (const auto& shape : kShapes) {
        for (const bool in_place : {false, true}) {
            Ranks ranks(shape, 1, {}, 4096, {}, {nullptr, in_place});
            for (const unsigned which : {~0u, 0u, 1u, 0b1010u, ~1u}) {
                BOOST_TEST_CONTEXT("nodes " << shape.size() << ", ranks " << ranks.size()
                                            << ", in place " << in_place << ", which " << which) {
                    for (const std::size_t count : {1, 600, 3000, 20'000}) {
                        for (const Task& task : tasks) try_shared(ranks, task, count, which);
                    }
                }
            }
        }
    }
}

const std::vector<Task> kStraight = {{Kind::broadcast},
                                     {Kind::allgather},
                                     {Kind::allgather, true, true},
                                     {Kind::allgather, false},
                                     {Kind::alltoall}};

// Also with some buffers in regions, and the faster way after both were tried.
BOOST_AUTO_TEST_CASE(read_buffers_that_ranks_have_not_shared) {
    for (const int size : {2, 3, 5}) {
        const std::vector marks(static_cast<std::size_t>(size), ReadMark::of_this_process());
        const Reader reader(marks, 1);
        BOOST_TEST(reader.reaches_all());
        Ranks read({size}, 1, {}, 4096, {}, {&reader, true});
        Ranks either({size}, 1, {}, 4096, {}, {&reader, {}});
        for (const std::size_t count : {3000, 20'000}) {
            for (const Task& task : kStraight) {
                try_task(read, task, count);
                try_shared(read, task, count, 1);
                for (int i = 0; i < 5; ++i) try_task(either, task, count);
            }
        }
        const std::uint64_t reads = reader.reads();
        try_task(read, {Kind::broadcast}, 20'000);
        BOOST_TEST(reader.reads() - reads == static_cast<std::uint64_t>(size - 1));
        try_task(read, {Kind::alltoall}, (9u << 20) / sizeof(std::int64_t));  // several pieces
    }
}

// Its process has nothing at the addresses of this one.
BOOST_AUTO_TEST_CASE(fail_if_memory_cannot_be_read_after_all) {
    char sleep[] = "sleep", minute[] = "60";
    char* const command[] = {sleep, minute, nullptr};
    pid_t other = 0;
    BOOST_TEST_REQUIRE(::posix_spawnp(&other, sleep, nullptr, nullptr, command, environ) == 0);
    const ReadMark mark{other, 8, 0};
    const Reader reader({mark, mark}, 1);
    BOOST_TEST(!reader.reaches_all());
    for (const Task& task : kStraight) {
        Ranks ranks({2}, 1, {}, 4096, {}, {&reader, true});
        Trial first(task, 0, 2, 200'000), second(task, 1, 2, 200'000);
        for (const auto status : ranks.run({first.call(), second.call()}))
            BOOST_TEST(status == BATCHAI_COLL_ERR_SYSTEM);
        const std::string said = ranks.engine(1).failure().sentence;
        BOOST_TEST(said.find("cannot read the memory of rank") != std::string::npos, said);
    }
    ::kill(other, SIGKILL);
    ::waitpid(other, nullptr, 0);
}

// The watchdog reports that a process has ended.
BOOST_AUTO_TEST_CASE(wait_for_the_cause_if_a_process_has_ended) {
    const ReadMark none{1 << 30, 8, 0};  // no process has such a number
    const Reader reader({none, none}, 1);
    for (const Task& task : kStraight) {
        Ranks ranks({2}, 1, {}, 4096, {}, {&reader, true});
        Trial first(task, 0, 2, 20'000), second(task, 1, 2, 20'000);
        Engine &alive = ranks.engine(0), &dead = ranks.engine(1);
        auto* waits = alive.start(first.call());
        dead.test(dead.start(second.call()));
        batchai_coll_status status = BATCHAI_COLL_IN_PROGRESS;
        for (int i = 0; i < 1000; ++i) status = alive.test(waits);
        BOOST_TEST(status == BATCHAI_COLL_IN_PROGRESS);
        dead.fail({BATCHAI_COLL_ERR_PEER, "rank 1 has ended"}, true);
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (status == BATCHAI_COLL_IN_PROGRESS && std::chrono::steady_clock::now() < deadline)
            status = alive.test(waits);
        BOOST_TEST(status == BATCHAI_COLL_ERR_PEER);
    }
}

// Of buffers that all ranks can address: regions.cpp.
BOOST_AUTO_TEST_CASE(give_the_right_result_past_the_caches) {
    constexpr std::size_t kCount = (8u << 20) / sizeof(std::int64_t) + 7;
    for (const auto& shape : {std::vector{2}, std::vector{1, 1}}) {
        Ranks ranks(shape, 1);
        for (const Kind kind : {Kind::allreduce, Kind::broadcast}) try_task(ranks, {kind}, kCount);
        for (const Kind kind : {Kind::allgather, Kind::alltoall})
            try_task(ranks, {kind}, kCount / 2 + 1);
    }
}

// Its program may go on with its buffer as soon as it knows of the failure.
BOOST_AUTO_TEST_CASE(fail_where_a_rank_that_failed_has_changed_what_others_read_in_place) {
    for (const Task& task : {Task{Kind::allreduce, true, true}, Task{Kind::broadcast},
                             Task{Kind::allgather}, Task{Kind::alltoall}}) {
        Ranks ranks({2}, 1, {}, 4096, {}, {nullptr, true});
        constexpr std::size_t kBytes = 2u << 20, kCount = 20'001;  // the broadcast's root is rank 0
        std::vector<std::unique_ptr<std::pmr::monotonic_buffer_resource>> memory;
        std::vector<std::unique_ptr<Trial>> trials;
        std::vector<Engine::Request*> requests;
        const auto shared = ranks.share(kBytes);
        for (int r = 0; r < 2; ++r) {
            memory.push_back(
                std::make_unique<std::pmr::monotonic_buffer_resource>(shared[r], kBytes));
            trials.push_back(std::make_unique<Trial>(task, r, 2, kCount, memory.back().get()));
            requests.push_back(ranks.engine(r).start(trials.back()->call()));
        }
        Engine &early = ranks.engine(0), &late = ranks.engine(1);
        late.test(requests[1]);
        for (int i = 0; i < 10; ++i) early.test(requests[0]);
        early.fail({BATCHAI_COLL_ERR_ABORTED, "rank 0 has aborted"}, true);
        std::fill_n(shared[0], kBytes, std::byte{});
        batchai_coll_status status = BATCHAI_COLL_IN_PROGRESS;
        while (status == BATCHAI_COLL_IN_PROGRESS) status = late.test(requests[1]);
        BOOST_TEST(status == BATCHAI_COLL_ERR_ABORTED, static_cast<int>(task.kind));
    }
}

BOOST_AUTO_TEST_SUITE_END()

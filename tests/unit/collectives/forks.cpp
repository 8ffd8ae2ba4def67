// SPDX-License-Identifier: Apache-2.0
//
// Real communicators of forked processes: shared memory between those of a node, UCX through the
// loopback between nodes.
#include <boost/test/unit_test.hpp>
#include <memory>

#include "collectives/comm/comm.hpp"
#include "collectives/comm/group.hpp"
#include "counting.hpp"
#include "ends.hpp"
#include "processes.hpp"
#include "trial.hpp"

using namespace batchai::coll;

namespace {

const std::vector<std::vector<int>> kShapes = {{3}, {1, 1}, {2, 2}, {2, 1}};

void try_all(Communicator& comm, const std::vector<std::size_t>& counts) {
    const Topology& topology = comm.topology();
    for (const std::size_t count : counts) {
        for (const Task& task : kTasks) {
            Trial trial(task, topology.rank, topology.size, count);
            Engine& engine = comm.engine();
            const auto status = [&] {
                const Counting on(true);
                return engine.wait(engine.start(trial.call()));
            }();
            if (status != BATCHAI_COLL_OK) throw std::runtime_error(engine.failure().sentence);
            if (trial.right()) continue;
            throw std::runtime_error(describe(trial.call().signature) + ": not the right result");
        }
    }
}

void finalize(std::unique_ptr<Communicator> comm) {
    const Failure failure = comm->finalize();
    if (failure.status != BATCHAI_COLL_OK) throw std::runtime_error(failure.sentence);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(forks)

BOOST_AUTO_TEST_CASE(give_each_operation_the_right_result) {
    for (const auto& shape : kShapes) {
        Processes processes(shape);
        const int size = processes.size();
        expect_well(processes.run([&](int rank, Board& board) -> std::string {
            auto comm = join(board, 0, rank, size);
            const Topology& topology = comm->topology();
            if (topology.rank != rank || topology.size != size ||
                topology.nodes() != static_cast<int>(shape.size()) ||
                topology.local_size() != shape[topology.node()]) {
                return "not the shape that was asked for: " + comm->plan();
            }
            try_all(*comm, {0, 1, 40, 5'000, 150'000});
            finalize(std::move(comm));
            return "";
        }));
    }
}

// A rank that waits for another one longer than 100 ms tells the first rank what it calls, and the
// letter takes memory: where the machine has other things to do, some rounds may have one.
BOOST_AUTO_TEST_CASE(allocate_nothing_more_once_all_has_been_run) {
    for (const auto& shape : std::vector<std::vector<int>>{{3}, {2, 2}}) {
        Processes processes(shape);
        const int size = processes.size();
        expect_well(processes.run([&](int rank, Board& board) -> std::string {
            auto comm = join(board, 0, rank, size);
            const std::vector<std::size_t> counts = {0, 1, 40, 20'000};
            for (int i = 0; i < 2 * kSlots; ++i) try_all(*comm, counts);
            std::size_t least = allocations;
            for (int round = 0; round < 5; ++round) {
                const std::size_t before = allocations;
                try_all(*comm, counts);
                least = std::min(least, allocations - before);
            }
            finalize(std::move(comm));
            return least == 0 ? "" : std::to_string(least) + " allocations";
        }));
    }
}

BOOST_AUTO_TEST_CASE(come_back_after_the_end) {
    for (const auto& shape : kShapes) {
        Processes processes(shape);
        const int size = processes.size();
        expect_well(processes.run([&](int rank, Board& board) -> std::string {
            for (int epoch = 0; epoch < 3; ++epoch) {
                auto comm = join(board, epoch, rank, size);
                try_all(*comm, {7});
                finalize(std::move(comm));
            }
            return "";
        }));
    }
}

// The first and the last one, which are on two nodes where there are two; then all but the first.
BOOST_AUTO_TEST_CASE(are_all_told_of_one_that_cannot_take_part) {
    for (const auto& shape : kShapes) {
        for (const int bad : {0, 1}) {
            Processes processes(shape);
            const int size = processes.size();
            expect_well(processes.run([&](int rank, Board& board) -> std::string {
                const char* variable = bad == 0 ? "BATCHAI_COLL_ALGORITHM" : "BATCHAI_COLL_READ";
                if (rank == bad) ::setenv(variable, "magic", 1);
                const auto made =
                    Communicator::create(std::make_unique<BoardBootstrap>(board, 0, rank, size));
                if (made) return "it has joined";
                const std::string& said = made.error().message;
                return said.find(std::string(variable) + ": 'magic'") != std::string::npos
                           ? ""
                           : "said: " + said;
            }));
        }
    }
}

BOOST_AUTO_TEST_CASE(split_off_some) {
    for (const auto& shape : kShapes) {
        Processes processes(shape);
        const int size = processes.size();
        expect_well(processes.run([&](int rank, Board& board) -> std::string {
            auto comm = join(board, 0, rank, size);
            std::vector<int> others;
            for (int r = 1; r < size; ++r) others.push_back(r);
            for (const std::vector<int>& ranks : {std::vector<int>{0, size - 1}, others}) {
                auto part = comm->split(ranks);
                if (!part) return part.error().message;
                const bool member = std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
                if (member != (*part != nullptr)) return "not the members that were asked for";
                if (member) try_all(**part, {1, 3'000});
                try_all(*comm, {9});
                if (member) finalize(std::move(*part));
            }
            finalize(std::move(comm));
            return "";
        }));
    }
}

// Those that are not in a group take no part in making it, and may do something else meanwhile.
BOOST_AUTO_TEST_CASE(make_groups_by_themselves) {
    for (const auto& shape : kShapes) {
        Processes processes(shape);
        const int size = processes.size();
        expect_well(processes.run([&](int rank, Board& board) -> std::string {
            auto comm = join(board, 0, rank, size);
            // The first group has the ranks in the opposite order, the second all but the first.
            const int first = size - 1 - rank;
            auto all = comm->group(std::make_unique<BoardBootstrap>(board, 1, first, size));
            if (!all) return all.error().message;
            if ((*all)->topology().rank != first) return "not in the order that was asked for";
            try_all(**all, {1, 3'000});
            if (rank > 0) {
                auto part =
                    comm->group(std::make_unique<BoardBootstrap>(board, 2, rank - 1, size - 1));
                if (!part) return part.error().message;
                try_all(**part, {9});
                if (comm->children() != 2) return "children: not two";
                finalize(std::move(*part));
            }
            try_all(*comm, {9});
            finalize(std::move(*all));
            if (comm->children() != 0) return "children are left";
            finalize(std::move(comm));
            return "";
        }));
    }
}

BOOST_AUTO_TEST_CASE(tell_each_other_texts_of_any_length) {
    // Both ranks have the same to say; or the second exchange fails.
    const auto talk = [](bool works) {
        return [works, calls = 0](const void* own, std::size_t bytes, void* all) mutable {
            std::memcpy(all, own, bytes);
            std::memcpy(static_cast<char*>(all) + bytes, own, bytes);
            return works || ++calls < 2;
        };
    };
    Acquaintances two(1, 2, talk(true));
    BOOST_TEST_REQUIRE(two.publish("key", "text").has_value());
    BOOST_TEST_REQUIRE(two.publish("empty", "").has_value());
    BOOST_TEST(*two.lookup(0, "key") == "text");
    BOOST_TEST(*two.lookup(1, "empty") == "");
    BOOST_TEST(!two.lookup(0, "other").has_value());
    BOOST_TEST(!Acquaintances(0, 2, talk(false)).publish("key", "text").has_value());
}

BOOST_AUTO_TEST_CASE(see_that_one_has_died) {
    for (const auto& shape : kShapes) {
        Processes processes(shape);
        const int size = processes.size(), odd = size - 1;
        const auto ends = processes.run([&](int rank, Board& board) -> std::string {
            auto comm = join(board, 0, rank, size);
            try_all(*comm, {5});
            meet(board, rank, size);
            if (rank == odd) ::raise(SIGKILL);
            Trial trial({Kind::allreduce}, rank, size, 100'000);
            Engine& engine = comm->engine();
            const auto status = engine.wait(engine.start(trial.call()));
            const std::string& sentence = engine.failure().sentence;
            if (status != BATCHAI_COLL_ERR_PEER) return "no loss: " + sentence;
            return sentence.find("rank " + std::to_string(odd)) == std::string::npos ? sentence
                                                                                     : "";
        });
        BOOST_TEST(ends[odd] == "signal 9");
        expect_well({ends.begin(), ends.begin() + odd});
    }
}

BOOST_AUTO_TEST_SUITE_END()

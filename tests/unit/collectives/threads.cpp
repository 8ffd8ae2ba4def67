// SPDX-License-Identifier: Apache-2.0
//
// Operations of ranks that are threads: what shm.hpp says about the order of loads and stores, by
// itself and, in preset tsan, in TSan's eyes.
//
// TSan sees loads and stores of one address. Where ranks are processes each has a mapping of its
// own, and it would see nothing. It knows no fences. The library has one in progress.cpp, for
// readers of other processes, and no thread here reads another one's page; and one in Pipeline, for
// failures.
#include "threads.hpp"

#include <algorithm>
#include <memory>

#include "soak.hpp"
#include "trial.hpp"

using namespace batchai::coll;

namespace {

const int kRounds = soaks() ? 20 : 2;
// From none over what fits an entry, a board, a slot, all slots, to those several times over.
const std::vector<std::size_t> kCounts = {0, 1, 16, 100, 127, 600, 1100, 3000, 5000};

std::string wrong_result(const Trial& trial) {
    return ": " + describe(trial.call().signature) + ": not the right result";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(threads)

BOOST_AUTO_TEST_CASE(give_each_operation_the_right_result) {
    for (const int count : {2, 3, 4}) {
        Threads(count).run([&](int rank, Engine& engine) -> std::string {
            Delay delay(rank);
            for (int round = 0; round < kRounds; ++round) {
                for (const std::size_t length : kCounts) {
                    for (const Task& task : kTasks) {
                        Trial trial(task, rank, count, length);
                        delay.some();
                        const auto status = engine.wait(engine.start(trial.call()));
                        if (status != BATCHAI_COLL_OK) return ": " + engine.failure().sentence;
                        if (!trial.right()) return wrong_result(trial);
                    }
                }
            }
            return "";
        });
    }
}

// Nothing but the operations themselves keeps a rank that is ahead off the memory of those behind.
BOOST_AUTO_TEST_CASE(follow_each_other_without_a_rest) {
    for (const int count : {2, 3, 4}) {
        Threads(count).run([&](int rank, Engine& engine) -> std::string {
            std::mt19937 order(7);  // the same on all
            Delay delay(rank);
            for (int round = 0; round < 10 * kRounds; ++round) {
                std::vector<std::unique_ptr<Trial>> trials;
                for (int i = 0; i < 24; ++i) {
                    const Task& task = kTasks[order() % kTasks.size()];
                    const std::size_t length = kCounts[order() % kCounts.size()];
                    trials.push_back(std::make_unique<Trial>(task, rank, count, length));
                }
                std::vector<Engine::Request*> requests;
                for (const auto& trial : trials) requests.push_back(engine.start(trial->call()));
                delay.some();
                std::shuffle(requests.begin(), requests.end(), std::mt19937(rank + round));
                for (Engine::Request* request : requests) {
                    if (engine.wait(request) != BATCHAI_COLL_OK) {
                        return ": " + engine.failure().sentence;
                    }
                }
                for (const auto& trial : trials) {
                    if (!trial->right()) return wrong_result(*trial);
                }
            }
            return "";
        });
    }
}

// The same in buffers that all can address: those behind must not find what they give overwritten,
// nor those ahead what they have got.
BOOST_AUTO_TEST_CASE(keep_off_each_others_buffers) {
    const std::vector<Task> tasks = {{Kind::allreduce}, {Kind::allreduce, true, true},
                                     {Kind::broadcast}, {Kind::allgather, false},
                                     {Kind::alltoall},  {Kind::allgather, true, true}};
    for (const int count : {2, 3, 4}) {
        Threads(count, true).run_ranks([&](const Threads::Rank& rank) -> std::string {
            const int number = rank.topology.rank;
            Delay delay(number);
            for (int round = 0; round < 10 * kRounds; ++round) {
                std::pmr::monotonic_buffer_resource memory(rank.memory, Threads::kShared,
                                                           std::pmr::null_memory_resource());
                // Some ranks' buffers are elsewhere, now and then.
                const bool shared = (round / 4 + number) % 4 != 0;
                for (const std::size_t length : {100, 3000, 17'000}) {
                    const Task& task =
                        tasks[(static_cast<std::size_t>(round) + length) % tasks.size()];
                    Trial trial(task, number, count, length,
                                shared ? &memory : std::pmr::get_default_resource());
                    delay.some();
                    const auto status = rank.engine.wait(rank.engine.start(trial.call()));
                    if (status != BATCHAI_COLL_OK) return ": " + rank.engine.failure().sentence;
                    if (!trial.right()) return wrong_result(trial);
                }
            }
            return "";
        });
    }
}

// After some that go well, one rank calls something else than the others; all but one of them
// agree, so several may be the first to say so.
BOOST_AUTO_TEST_CASE(another_operation_of_one_thread_is_an_error_on_all) {
    for (const int count : {2, 3, 4}) {
        for (int round = 0; round < 5 * kRounds; ++round) {
            const int odd = round % count;
            const std::size_t length = round % 2 == 0 ? 9 : 3000;
            Threads(count).run([&](int rank, Engine& engine) -> std::string {
                Delay delay(rank);
                for (int i = 0; i < round; ++i) {
                    Trial trial({Kind::allreduce}, rank, count, length);
                    engine.wait(engine.start(trial.call()));
                    if (!trial.right()) return wrong_result(trial);
                }
                delay.some();
                Trial trial({Kind::allreduce}, rank, count, rank == odd ? length + 1 : length);
                const auto status = engine.wait(engine.start(trial.call()));
                const std::string& sentence = engine.failure().sentence;
                if (status != BATCHAI_COLL_ERR_MISMATCH) return ": " + std::to_string(status);
                const std::string said = "rank " + std::to_string(odd) +
                                         " calls allreduce (sum) of " + std::to_string(length + 1) +
                                         " int64";
                return sentence.find(said) == std::string::npos ? ": " + sentence : "";
            });
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

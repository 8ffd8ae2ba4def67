// SPDX-License-Identifier: Apache-2.0
//
// Queues of several ranks, which are threads, each with its own thread and several callers: every
// caller gets the right sums, whoever drives; and all come to an end, well or not.
#include "collectives/queue/queue.hpp"

#include <algorithm>

#include "soak.hpp"
#include "threads.hpp"

using namespace batchai::coll;

namespace {

const int kSteps = soaks() ? 1000 : 20;

Dispatcher::Options options(int size) {
    Dispatcher::Options options;
    options.cycle = std::chrono::microseconds(50);
    options.numbers.resize(size);
    return options;
}

// A caller of a rank's queue, among others.
class Client {
  public:
    Client(Queue& queue, int rank, int size, int number)
        : queue_(queue),
          rank_(rank),
          size_(size),
          name_("client " + std::to_string(number) + " "),
          random_(static_cast<unsigned>(rank * 16 + number)) {}

    // A step: tensors, in any order, and what becomes of them, in any order.
    std::string step(int count) {
        std::vector<std::vector<float>> tensors;
        for (int i = 0; i < count; ++i) tensors.emplace_back(10 * i + 1, rank_ + i);
        std::vector<int> order(count);
        for (int i = 0; i < count; ++i) order[i] = i;
        std::shuffle(order.begin(), order.end(), random_);
        std::vector<Submission*> submissions(count);
        for (const int i : order) {
            if (random_() % 8 == 0) std::this_thread::yield();
            submissions[i] = submit(i, tensors[i]);
        }
        std::shuffle(order.begin(), order.end(), random_);
        for (const int i : order) {
            std::string sentence;
            const batchai_coll_status status = end(submissions[i], sentence);
            if (status != BATCHAI_COLL_OK) return ": " + sentence;
            const int total = size_ * (size_ - 1) / 2 + size_ * i;
            const auto sum = static_cast<float>(total);
            if (tensors[i].front() != sum || tensors[i].back() != sum) return ": a wrong sum";
        }
        return "";
    }

    Submission* submit(int number, std::vector<float>& tensor) {
        Part part;
        part.signature.kind = Kind::allreduce;
        part.signature.type = BATCHAI_COLL_FLOAT32;
        part.signature.count = tensor.size();
        part.send = part.receive = reinterpret_cast<std::byte*>(tensor.data());
        return queue_.submit({name_ + std::to_string(number), "", std::span(&part, 1)});
    }

  private:
    batchai_coll_status end(Submission* submission, std::string& sentence) {
        if (random_() % 2 == 0) return queue_.wait(submission, sentence);
        for (;;) {
            const auto status = queue_.test(submission, sentence);
            if (status != BATCHAI_COLL_IN_PROGRESS) return status;
            std::this_thread::yield();
        }
    }

    Queue& queue_;
    int rank_, size_;
    std::string name_;
    std::mt19937 random_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(queues)

BOOST_AUTO_TEST_CASE(serve_all_callers) {
    for (const int callers : {1, 2, 3}) {
        Threads(2).run_ranks([&](const Threads::Rank& rank) {
            const int size = rank.topology.size;
            Queue queue(rank.engine, rank.progress, rank.topology, options(size));
            std::vector<std::string> wrong(callers);
            std::vector<std::thread> threads;
            for (int c = 0; c < callers; ++c) {
                threads.emplace_back([&, c] {
                    Client client(queue, rank.topology.rank, size, c);
                    for (int i = 0; i < kSteps && wrong[c].empty(); ++i) {
                        wrong[c] = client.step(i % 7 == 6 ? 3 : 6);
                    }
                });
            }
            for (std::thread& thread : threads) thread.join();
            const Failure failure = queue.close();
            for (const std::string& sentence : wrong) {
                if (!sentence.empty()) return sentence;
            }
            return failure.status == BATCHAI_COLL_OK ? "" : ": " + failure.sentence;
        });
    }
}

BOOST_AUTO_TEST_CASE(open_and_close_many_times) {
    Threads(3).run_ranks([&](const Threads::Rank& rank) -> std::string {
        const int size = rank.topology.size;
        for (int i = 0; i < 10 * kSteps; ++i) {
            Queue queue(rank.engine, rank.progress, rank.topology, options(size));
            Client client(queue, rank.topology.rank, size, 0);
            std::string wrong = client.step(i % 3);
            if (!wrong.empty()) return wrong;
            std::vector<float> tensor(5);
            std::string sentence;
            Submission* left = i % 2 == 0 ? client.submit(99, tensor) : nullptr;
            if (queue.close().status != BATCHAI_COLL_OK) return ": close";
            if (left != nullptr) queue.wait(left, sentence);  // all have submitted it, or not
        }
        return "";
    });
}

// One rank leaves without the others. They wait for it, leave, or do both.
BOOST_AUTO_TEST_CASE(end_after_a_failure) {
    for (int round = 0; round < kSteps; ++round) {
        Threads(2).run_ranks([&](const Threads::Rank& rank) -> std::string {
            const int size = rank.topology.size;
            Queue queue(rank.engine, rank.progress, rank.topology, options(size));
            Client client(queue, rank.topology.rank, size, 0);
            for (int i = 0; i < round % 6; ++i) client.step(3);
            std::vector<float> tensor(5);
            if (rank.topology.rank == 0) {
                // What the others do not do: the engine notices.
                static const auto barrier = [](void* engine) {
                    auto* own = static_cast<Engine*>(engine);
                    Call call;
                    call.signature.kind = Kind::barrier;
                    own->wait(own->start(call));
                    return 0;
                };
                Submission* odd = queue.submit({"odd", "", {}, barrier, &rank.engine});
                std::string sentence;
                queue.wait(odd, sentence);
            } else {
                static const auto nothing = [](void*) { return 0; };
                Submission* odd = queue.submit({"odd", "", {}, nothing, nullptr});
                std::string sentence;
                queue.wait(odd, sentence);
            }
            Submission* next = client.submit(7, tensor);
            Submission* last = nullptr;
            std::string sentence;
            if (round % 2 == 0 && queue.wait(next, sentence) == BATCHAI_COLL_OK) return ": well";
            if (round % 3 == 0) last = client.submit(8, tensor);
            if (queue.close().status != BATCHAI_COLL_ERR_MISMATCH) return ": closed well";
            if (round % 2 != 0 && queue.wait(next, sentence) == BATCHAI_COLL_OK) return ": well";
            if (last != nullptr && queue.wait(last, sentence) == BATCHAI_COLL_OK) return ": well";
            last = client.submit(9, tensor);
            return queue.wait(last, sentence) == BATCHAI_COLL_OK ? ": well" : "";
        });
    }
}

BOOST_AUTO_TEST_CASE(a_halted_queue_releases_its_waiting_threads) {
    for (int round = 0; round < kSteps; ++round) {
        Threads(2).run_ranks([&](const Threads::Rank& rank) -> std::string {
            const int size = rank.topology.size;
            Queue queue(rank.engine, rank.progress, rank.topology, options(size));
            std::vector<float> tensor(5);
            std::string sentence;
            Client client(queue, rank.topology.rank, size, 0);
            Submission* alone = client.submit(rank.topology.rank, tensor);
            Submission* other = client.submit(2 + rank.topology.rank, tensor);
            std::thread waiting([&] { queue.wait(alone, sentence); });
            std::thread polling([&] {
                std::string ignored;
                for (int i = 0; i < 100; ++i) {
                    if (queue.test(other, ignored) != BATCHAI_COLL_IN_PROGRESS) break;
                }
            });
            polling.join();
            const bool halted = queue.halt();
            waiting.join();
            return !halted || sentence.empty() ? ": " + sentence : "";
        });
    }
}

BOOST_AUTO_TEST_SUITE_END()

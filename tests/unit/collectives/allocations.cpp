// SPDX-License-Identifier: Apache-2.0
//
// No operation allocates that has been run before, whoever waits for whom. Counts calls of operator
// new; what UCX, in C, takes for itself is not counted. A failure may allocate: it is the last
// thing that happens.
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <memory>
#include <new>

#include "callers.hpp"
#include "collectives/queue/queue.hpp"
#include "trial.hpp"

namespace {

void* allocate(std::size_t bytes, std::size_t alignment) {
    using namespace batchai::coll;
    allocations += is_counting;
    const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
    void* memory = std::aligned_alloc(alignment, whole > 0 ? whole : alignment);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
// Inlined beside a new that is not, free() would look to GCC like a mistake.
[[gnu::noinline]] void release(void* memory) {
    std::free(memory);
}

constexpr std::size_t kDefault = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

void* operator new(std::size_t bytes) {
    return allocate(bytes, kDefault);
}
void* operator new[](std::size_t bytes) {
    return allocate(bytes, kDefault);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
    return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
    release(memory);
}
void operator delete[](void* memory) noexcept {
    release(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    release(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
    release(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
    release(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
    release(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    release(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
    release(memory);
}

using namespace batchai::coll;

namespace {

// From nothing to more than all slots.
const std::vector<std::size_t> kCounts = {0, 1, 40, 600, 4200};

// How often the library allocates for the operation on all ranks.
std::size_t allocations_of(Ranks& ranks, const Task& task, std::size_t count, int times) {
    std::vector<std::unique_ptr<Trial>> trials;
    std::vector<Call> calls;
    for (int r = 0; r < ranks.size(); ++r) {
        trials.push_back(std::make_unique<Trial>(task, r, ranks.size(), count));
        calls.push_back(trials.back()->call());
    }
    const std::size_t before = allocations;
    for (int i = 0; i < times; ++i) {
        for (const auto& trial : trials) trial->reset();
        for (const auto status : ranks.run(calls)) BOOST_TEST(status == BATCHAI_COLL_OK);
        for (const auto& trial : trials) BOOST_TEST(trial->right());
    }
    return allocations - before;
}

// Each slot has things of its own. Eight calls use all slots; eight more, which begin with another
// slot, do so also where a call's chunks differ.
void warm_up(Ranks& ranks, const Task& task, std::size_t count) {
    allocations_of(ranks, task, count, kSlots);
    allocations_of(ranks, {Kind::barrier}, 0, 1);
    allocations_of(ranks, task, count, kSlots);
}

void check(Ranks& ranks, const std::vector<Task>& tasks) {
    for (const std::size_t count : kCounts) {
        for (const Task& task : tasks) warm_up(ranks, task, count);
    }
    for (int round = 0; round < 2; ++round) {
        for (const std::size_t count : kCounts) {
            for (const Task& task : tasks) {
                const auto found = allocations_of(ranks, task, count, 1);
                BOOST_TEST(found == 0u, "operation " << static_cast<int>(task.kind) << " of "
                                                     << count << ": " << found << " allocations");
            }
        }
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(allocation)

BOOST_AUTO_TEST_CASE(is_counted) {
    const std::size_t before = allocations;
    std::vector<int> numbers(7);
    BOOST_TEST(allocations == before);
    {
        const Counting on(true);
        numbers.resize(100);
        const Counting off(false);
        numbers.resize(1000);
    }
    BOOST_TEST(allocations == before + 1);
}

BOOST_AUTO_TEST_CASE(ends_with_an_operations_first_call) {
    for (const auto& shape : std::vector<std::vector<int>>{{3}, {2, 2}, {2, 3, 1}}) {
        Ranks ranks(shape);
        BOOST_TEST_CONTEXT("nodes " << shape.size() << ", ranks " << ranks.size()) {
            check(ranks, kTasks);
        }
    }
}

BOOST_AUTO_TEST_CASE(ends_with_as_many_requests_as_there_are_at_a_time) {
    Ranks ranks({1});
    Engine& engine = ranks.engine(0);
    const Trial trial({Kind::alltoallv, false}, 0, 1, 40);
    std::vector<Engine::Request*> requests(20);
    std::size_t before = 0;
    for (int round = 0; round < 200; ++round) {
        if (round == 100) before = allocations;  // each request has held counts by now
        const Counting on(true);
        for (Engine::Request*& request : requests) request = engine.start(trial.call());
        std::rotate(requests.begin(), requests.begin() + 7, requests.end());
        for (Engine::Request* request : requests) engine.wait(request);
    }
    BOOST_TEST(allocations == before);
}

BOOST_AUTO_TEST_CASE(ends_with_it_for_every_algorithm) {
    for (const Algorithm& algorithm : algorithms()) {
        Ranks ranks({1, 2, 1}, 1, &algorithm);
        BOOST_TEST_CONTEXT(algorithm.name) {
            check(ranks, {{Kind::allreduce}});
        }
    }
}

BOOST_AUTO_TEST_CASE(ends_with_a_schedule_that_is_frozen) {
    Dispatcher::Options options;
    options.fusion_bytes = 3000;
    options.patience = std::chrono::minutes(1);
    Job job({2, 1}, options);
    std::vector<std::string> names;
    for (int i = 0; i < 160; ++i) names.push_back("tensor " + std::to_string(i));
    const std::size_t beginning = allocations;
    for (int step = 0; step < 20; ++step) job.train(names, 10);
    const std::size_t before = allocations;
    BOOST_TEST(before > beginning);
    const int rounds = job[0].rounds();
    for (int step = 0; step < 5; ++step) job.train(names, 10);
    BOOST_TEST(job[0].rounds() == rounds);
    BOOST_TEST(allocations == before);
}

// Counted is what the caller's thread does, which drives where it waits.
BOOST_AUTO_TEST_CASE(an_operation_ends_for_the_thread_that_waits) {
    Ranks ranks({1});
    Dispatcher::Options options;
    options.numbers = {0};
    Queue queue(ranks.engine(0), ranks.progress(0), ranks.topology(0), options);
    std::vector<float> numbers(10);
    Part part;
    part.signature.kind = Kind::allreduce;
    part.signature.type = BATCHAI_COLL_FLOAT32;
    part.signature.count = numbers.size();
    part.send = part.receive = reinterpret_cast<std::byte*>(numbers.data());
    std::vector<std::string> names;
    for (int i = 0; i < 160; ++i) names.push_back("a tensor with a long name " + std::to_string(i));
    std::vector<Submission*> submissions(names.size());
    const std::size_t beginning = allocations;
    std::size_t before = 0;
    for (int step = 0; step < 60; ++step) {
        if (step == 40) before = allocations;
        const Counting on(true);
        std::string sentence;
        for (std::size_t i = 0; i < names.size(); ++i) {
            submissions[i] = queue.submit({names[i], "of a shape", std::span(&part, 1)});
        }
        for (Submission* submission : submissions) queue.wait(submission, sentence);
    }
    BOOST_TEST(before > beginning);
    BOOST_TEST(allocations == before);
    queue.close();
}

BOOST_AUTO_TEST_SUITE_END()

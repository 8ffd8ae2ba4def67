// SPDX-License-Identifier: Apache-2.0
//
// queue TENSORS STEPS - what naming costs. A step submits TENSORS allreduces of one number each by
// name and waits for them, as a step of training does. The schedule is frozen; in a second run it
// never is, because every other step leaves one out. A bare allreduce of the same numbers is timed
// beside them. Rank 0 prints "queue RANKS TENSORS BARE FROZEN NEGOTIATED": microseconds a step, the
// median of all batches.
#include <batchai/collectives.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

void check(batchai_coll_status status) {
    if (status == BATCHAI_COLL_OK) return;
    std::fprintf(stderr, "queue: %s\n", batchai_coll_last_error());
    std::exit(1);
}

void expect(bool right) {
    if (right) return;
    std::fputs("queue: a sum is wrong\n", stderr);
    std::exit(1);
}

// The median step, of batches of ten steps.
template <class Step>
double median(int steps, Step step) {
    constexpr int kBatch = 10, kWarmUp = 50;
    for (int i = 0; i < kWarmUp; ++i) step();
    std::vector<double> times;
    for (int done = 0; done < steps; done += kBatch) {
        const auto begin = Clock::now();
        for (int i = 0; i < kBatch; ++i) step();
        const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
        times.push_back(took.count() / kBatch);
    }
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    return times[times.size() / 2];
}

struct Tensors {
    explicit Tensors(std::size_t count) : numbers(count), tickets(count) {
        for (std::size_t i = 0; i < count; ++i)
            names.push_back("layer." + std::to_string(i) + ".weight");
    }

    void step(batchai_coll_queue* queue, int size, bool all) {
        const std::size_t first = all ? 0 : 1;
        for (std::size_t i = names.size(); i-- > first;) {
            numbers[i] = 1;
            const batchai_coll_tensor tensor{&numbers[i], &numbers[i], 1, BATCHAI_COLL_FLOAT32};
            check(batchai_coll_submit_allreduce(queue, names[i].c_str(), nullptr, &tensor, 1,
                                                BATCHAI_COLL_SUM, nullptr, 0, &tickets[i]));
        }
        for (std::size_t i = first; i < names.size(); ++i) {
            check(batchai_coll_ticket_wait(queue, tickets[i]));
        }
        expect(numbers.back() == static_cast<float>(size));
    }

    std::vector<std::string> names;
    std::vector<float> numbers;
    std::vector<batchai_coll_ticket*> tickets;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fputs("usage: queue TENSORS STEPS\n", stderr);
        return 2;
    }
    const std::size_t count = std::strtoul(argv[1], nullptr, 10);
    const int steps = std::atoi(argv[2]);
    batchai_coll_comm* comm = nullptr;
    check(batchai_coll_init(&comm));
    const int size = batchai_coll_size(comm);
    std::vector<float> send(count, 1), receive(count);
    const double bare = median(steps, [&] {
        check(batchai_coll_allreduce(comm, send.data(), receive.data(), count, BATCHAI_COLL_FLOAT32,
                                     BATCHAI_COLL_SUM, nullptr));
    });
    expect(receive.back() == static_cast<float>(size));
    Tensors tensors(count);
    batchai_coll_queue* queue = nullptr;
    check(batchai_coll_queue_open(comm, nullptr, &queue));
    const double frozen = median(steps, [&] { tensors.step(queue, size, true); });
    bool all = false;
    const double negotiated = median(steps, [&] { tensors.step(queue, size, all = !all); });
    check(batchai_coll_queue_close(queue));
    batchai_coll_queue_free(queue);
    if (batchai_coll_rank(comm) == 0) {
        std::printf("queue %d %zu %.2f %.2f %.2f\n", size, count, bare, frozen, negotiated);
    }
    check(batchai_coll_finalize(comm));
    return 0;
}

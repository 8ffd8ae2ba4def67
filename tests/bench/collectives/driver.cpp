// SPDX-License-Identifier: Apache-2.0
//
// Times a collective operation on float32 numbers, the same way whatever library it is linked with
// (library.hpp):
//
//   driver OPERATION MILLISECONDS BYTES...
//
// BYTES are those of a rank's larger buffer. For each size, all results are checked bit by bit
// (operation.hpp):
//
// 1. One call to warm up, into a poisoned buffer; then 200, 20 or 5 calls in a row, as a program
//    makes them. If 20 calls take so long that 200 would take more than two seconds, there are 20.
//    Rank 0 prints, in microseconds, the mean of a call and the 99th percentile, of the slowest
//    rank:
//
//      series BYTES CALLS MEAN PERCENTILE
//
// 2. If MILLISECONDS is not 0: batches of calls back to back, after a barrier each, for as long as
//    that. While a batch is shorter than two milliseconds it does not count, and the next one has
//    twice as many calls. Rank 0 prints, in microseconds a call, the fastest batch:
//
//      result BYTES CALLS BATCHES BEST
//
// At the end it prints the most memory that the library has held on each rank after a size, in KiB.
// Both buffers, and what the process held before it joined, do not count (memory.hpp):
//
//   memory RANK-0 RANK-1 ...
//
// $BENCH_TOUCH: after each call the rank writes every cache line of the BYTES of its send buffer
// and reads those of its receive buffer, as a program does with its data. The times include that,
// also for operations that use a part of one buffer.
//
// A batch has taken as long as on its slowest rank. What the ranks tell each other goes through the
// library's own allreduce: nothing else runs in the process. A rank that finds a wrong result says
// so and exits with code 3.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "buffer.hpp"
#include "library.hpp"
#include "memory.hpp"
#include "operation.hpp"

namespace batchai::bench {

void fail(const std::string& what) {
    std::fprintf(stderr, "%s\n", what.c_str());
    std::_Exit(1);
}

namespace {

using Clock = std::chrono::steady_clock;

// Microseconds: no longer than it must be, for quiet moments are short on a shared machine.
constexpr double kShortestBatch = 2000;
constexpr std::size_t kMostBatches = 50;
constexpr double kLong = 2e6;  // one batch of calls that take seconds is enough

std::size_t calls_in_a_row(std::size_t bytes) {
    if (bytes <= std::size_t{64} << 10) return 200;
    return bytes <= std::size_t{4} << 20 ? 20 : 5;
}

double microseconds(Clock::duration time) {
    return std::chrono::duration<double, std::micro>(time).count();
}

class Driver {
  public:
    // With buffers for `most` bytes. before: KiB that the process holds without the library.
    Driver(Library& library, const std::string& name, Buffer& send, Buffer& receive,
           std::size_t most, double budget, std::size_t before)
        : library_(library),
          name_(name),
          operation_(name, library),
          budget_(budget),
          before_(before),
          send_(send),
          receive_(receive) {
        operation_.fill(send.data(), most / sizeof(float));
    }

    void measure(std::size_t bytes) {
        count_ = bytes / sizeof(float);
        poison();
        call();
        check();
        poison();
        series();
        if (budget_ > 0) batches();
        check();
        const std::size_t held = held_kib({send_.data(), receive_.data()});
        most_held_ = std::max(most_held_, held - std::min(held, before_));
    }

    void report_memory() {
        if (before_ == 0) return;
        const std::vector<float> all = of_all(static_cast<float>(most_held_));
        if (library_.rank() != 0) return;
        std::printf("memory");
        for (const float kib : all) std::printf(" %.0f", static_cast<double>(kib));
        std::printf("\n");
        std::fflush(stdout);
    }

  private:
    void call() {
        operation_.run(send_.data(), receive_.data(), count_);
        if (touches_) touch();
    }

    void touch() {
        constexpr std::size_t kLine = 64 / sizeof(float);
        volatile float *send = send_.data(), *receive = receive_.data();
        for (std::size_t i = 0; i < count_; i += kLine) {
            send[i] = send[i];
            static_cast<void>(receive[i]);
        }
    }

    void series() {
        const std::size_t bytes = count_ * sizeof(float);
        std::size_t calls = std::min<std::size_t>(calls_in_a_row(bytes), 20);
        std::vector<double> times;
        timed_calls(calls, times);
        if (calls < calls_in_a_row(bytes) &&
            most(std::accumulate(times.begin(), times.end(), 0.0)) < kLong / 10) {
            timed_calls(calls_in_a_row(bytes) - calls, times);
            calls = calls_in_a_row(bytes);
        }
        const auto number = static_cast<double>(calls);
        const double mean = most(std::accumulate(times.begin(), times.end(), 0.0) / number);
        std::sort(times.begin(), times.end());
        const double percentile =
            most(times[static_cast<std::size_t>(std::ceil(0.99 * number)) - 1]);
        if (library_.rank() != 0) return;
        std::printf("series %zu %zu %.4f %.4f\n", bytes, calls, mean, percentile);
        std::fflush(stdout);
    }

    // After a barrier; adds what each call has taken on this rank.
    void timed_calls(std::size_t calls, std::vector<double>& times) {
        library_.barrier();
        auto begin = Clock::now();
        for (std::size_t i = 0; i < calls; ++i) {
            call();
            const auto end = Clock::now();
            times.push_back(microseconds(end - begin));
            begin = end;
        }
    }

    void batches() {
        std::size_t calls = 1;
        double spent = 0;
        std::vector<double> times;
        while (times.empty() || (times.size() < 2 && spent < kLong) ||
               (spent < budget_ && times.size() < kMostBatches)) {
            const double took = batch(calls);
            spent += took;
            if (took < kShortestBatch) {
                calls *= 2;
                times.clear();
            } else {
                times.push_back(took / static_cast<double>(calls));
            }
        }
        if (library_.rank() != 0) return;
        std::printf("result %zu %zu %zu %.4f\n", count_ * sizeof(float), calls, times.size(),
                    *std::min_element(times.begin(), times.end()));
        std::fflush(stdout);
    }

    // Microseconds on the slowest rank, the same number on all.
    double batch(std::size_t calls) {
        library_.barrier();
        const auto begin = Clock::now();
        for (std::size_t i = 0; i < calls; ++i) call();
        return most(microseconds(Clock::now() - begin));
    }

    // What each rank says.
    std::vector<float> of_all(float own) {
        const auto ranks = static_cast<std::size_t>(library_.size());
        std::vector<float> said(ranks);
        std::vector<float> all(ranks);
        said[static_cast<std::size_t>(library_.rank())] = own;
        library_.allreduce(said.data(), all.data(), ranks);
        return all;
    }
    double most(double own) {
        const std::vector<float> all = of_all(static_cast<float>(own));
        return *std::max_element(all.begin(), all.end());
    }

    void poison() { std::memset(receive_.data(), 0xff, count_ * sizeof(float)); }

    void check() {
        if (operation_.is_right(send_.data(), receive_.data(), count_)) return;
        std::fprintf(stderr, "wrong result of %s, %zu bytes\n", name_.c_str(),
                     count_ * sizeof(float));
        std::_Exit(3);
    }

    Library& library_;
    std::string name_;
    Operation operation_;
    double budget_;  // microseconds for the batches of a size
    bool touches_ = std::getenv("BENCH_TOUCH") != nullptr;
    std::size_t count_ = 0;
    std::size_t before_, most_held_ = 0;  // KiB
    Buffer& send_;
    Buffer& receive_;
};

}  // namespace
}  // namespace batchai::bench

int main(int argc, char** argv) {
    if (argc < 4) batchai::bench::fail("usage: driver OPERATION MILLISECONDS BYTES...");
    const double budget = std::atof(argv[2]) * 1000;
    std::vector<std::size_t> sizes;
    for (int i = 3; i < argc; ++i) sizes.push_back(std::strtoull(argv[i], nullptr, 10));

    const std::size_t most = *std::max_element(sizes.begin(), sizes.end());
    const std::size_t alone = batchai::bench::held_kib();
    const auto library = batchai::bench::open_library();
    const std::size_t joined = batchai::bench::held_kib();
    batchai::bench::Buffer send(most, library->allocate(most));
    batchai::bench::Buffer receive(most, library->allocate(most));
    const std::size_t held = batchai::bench::held_kib({send.data(), receive.data()});
    const std::size_t buffers = held - std::min(held, joined);
    batchai::bench::Driver driver(*library, argv[1], send, receive, most, budget, alone + buffers);
    for (const std::size_t bytes : sizes) driver.measure(bytes);
    driver.report_memory();
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
//
// Times allreduces of float32 sums, the same way whatever library it is linked with (library.hpp):
//
//   driver MILLISECONDS BYTES...
//
// For each size: one call into a poisoned buffer, checked bit by bit; then batches of calls back to
// back, after a barrier each, for as long as MILLISECONDS, the result of the last one checked
// again. While a batch is shorter than two milliseconds it does not count, and the next one has
// twice as many calls. Rank 0 prints, in microseconds a call, the fastest batch and the middle one:
//
//   result BYTES CALLS BATCHES BEST MEDIAN
//
// and at the end what the library has held at most on each rank, after any of the sizes, in KiB
// beyond both buffers and what the process held before it joined (memory.hpp):
//
//   memory RANK-0 RANK-1 ...
//
// A batch has taken as long as on its slowest rank. What the ranks tell each other goes through the
// library's own allreduce: nothing else runs in the process. A rank that finds a wrong sum says so
// and exits with code 3.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "buffer.hpp"
#include "library.hpp"
#include "memory.hpp"

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
constexpr std::size_t kPeriod = 1000;

// Whole numbers, small enough that their sum is exact in any order.
float input(std::size_t index, int rank) {
    return static_cast<float>((index * 7 + static_cast<std::size_t>(rank) * 13) % kPeriod);
}

class Driver {
  public:
    // With buffers for `most` bytes. before: KiB that the process holds without the library.
    Driver(Library& library, Buffer& send, Buffer& receive, std::size_t most, double budget,
           std::size_t before)
        : library_(library),
          budget_(budget),
          before_(before),
          send_(send),
          receive_(receive),
          period_(kPeriod) {
        for (std::size_t i = 0; i < most / sizeof(float); ++i) {
            send_.data()[i] = input(i, library.rank());
        }
        for (std::size_t i = 0; i < kPeriod; ++i) {
            for (int rank = 0; rank < library.size(); ++rank) period_[i] += input(i, rank);
        }
    }

    void measure(std::size_t bytes) {
        count_ = bytes / sizeof(float);
        poison();
        library_.allreduce(send_.data(), receive_.data(), count_);
        check();

        poison();
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
        check();
        const std::size_t held = held_kib();
        most_held_ = std::max(most_held_, held - std::min(held, before_));
        std::sort(times.begin(), times.end());
        if (library_.rank() != 0) return;
        std::printf("result %zu %zu %zu %.4f %.4f\n", bytes, calls, times.size(), times.front(),
                    times[times.size() / 2]);
        std::fflush(stdout);
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
    // What each rank says.
    std::vector<float> of_all(float own) {
        const auto ranks = static_cast<std::size_t>(library_.size());
        std::vector<float> said(ranks);
        std::vector<float> all(ranks);
        said[static_cast<std::size_t>(library_.rank())] = own;
        library_.allreduce(said.data(), all.data(), ranks);
        return all;
    }

    // Microseconds on the slowest rank, the same number on all.
    double batch(std::size_t calls) {
        library_.barrier();
        const auto begin = Clock::now();
        for (std::size_t i = 0; i < calls; ++i) {
            library_.allreduce(send_.data(), receive_.data(), count_);
        }
        const std::chrono::duration<double, std::micro> took = Clock::now() - begin;

        const std::vector<float> all = of_all(static_cast<float>(took.count()));
        return *std::max_element(all.begin(), all.end());
    }

    void poison() { std::memset(receive_.data(), 0xff, count_ * sizeof(float)); }

    void check() {
        for (std::size_t i = 0; i < count_; i += kPeriod) {
            const std::size_t length = std::min(kPeriod, count_ - i);
            if (std::memcmp(receive_.data() + i, period_.data(), length * sizeof(float)) == 0)
                continue;
            std::fprintf(stderr, "wrong sum in an allreduce of %zu bytes\n",
                         count_ * sizeof(float));
            std::_Exit(3);
        }
    }

    Library& library_;
    double budget_;  // microseconds for a size
    std::size_t count_ = 0;
    std::size_t before_, most_held_ = 0;  // KiB
    Buffer& send_;
    Buffer& receive_;
    std::vector<float> period_;  // the sums, which repeat
};

}  // namespace
}  // namespace batchai::bench

int main(int argc, char** argv) {
    if (argc < 3) batchai::bench::fail("usage: driver MILLISECONDS BYTES...");
    const double budget = std::atof(argv[1]) * 1000;
    std::vector<std::size_t> sizes;
    for (int i = 2; i < argc; ++i) sizes.push_back(std::strtoull(argv[i], nullptr, 10));

    const std::size_t most = *std::max_element(sizes.begin(), sizes.end());
    const std::size_t alone = batchai::bench::held_kib();
    const auto library = batchai::bench::open_library();
    const std::size_t joined = batchai::bench::held_kib();
    batchai::bench::Buffer send(most, library->allocate(most));
    batchai::bench::Buffer receive(most, library->allocate(most));
    const std::size_t buffers = batchai::bench::held_kib() - joined;
    batchai::bench::Driver driver(*library, send, receive, most, budget, alone + buffers);
    for (const std::size_t bytes : sizes) driver.measure(bytes);
    driver.report_memory();
    return 0;
}

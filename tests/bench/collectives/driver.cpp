// SPDX-License-Identifier: Apache-2.0
//
// Times allreduces of float32 sums, the same way whatever library it is linked with (library.hpp):
//
//   driver MILLISECONDS BYTES...
//
// For each size: one call into a poisoned buffer, checked bit by bit; calls until their time is
// known; then batches of so many calls back to back that one takes a few milliseconds, after a
// barrier each, for as long as MILLISECONDS; the result of the last is checked again. Rank 0 prints
//
//   result BYTES CALLS BATCHES BEST MEDIAN      microseconds a call: of the fastest batch, and of
//   the middle one
//
// A batch has taken as long as on its slowest rank. A rank that finds a wrong sum says so and exits
// with 3. What the ranks tell each other goes through the library's own allreduce: nothing else
// runs in the process.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "buffer.hpp"
#include "library.hpp"

namespace batchai::bench {

void fail(const std::string& what) {
    std::fprintf(stderr, "%s\n", what.c_str());
    std::_Exit(1);
}

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kBatch =
    4000;  // microseconds: short, for quiet moments are short on a shared machine
constexpr int kMostBatches = 50;
constexpr std::size_t kPeriod = 1000;

// Whole numbers, small enough that their sum is exact in any order.
float input(std::size_t index, int rank) {
    return static_cast<float>((index * 7 + static_cast<std::size_t>(rank) * 13) % kPeriod);
}

class Driver {
  public:
    Driver(Library& library, std::size_t most, double budget)
        : library_(library), budget_(budget), send_(most), receive_(most), period_(kPeriod) {
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

        double one = 0;
        for (std::size_t calls = 1;; calls *= 4) {
            const double took = slowest({batch(calls)})[0];
            one = took / static_cast<double>(calls);
            if (took >= kBatch / 4) break;
        }
        const auto calls = static_cast<std::size_t>(std::max(1.0, kBatch / one));
        const double whole = one * static_cast<double>(calls);
        const int batches = std::clamp(static_cast<int>(budget_ / whole), 2, kMostBatches);
        poison();
        std::vector<double> times;
        for (int i = 0; i < batches; ++i)
            times.push_back(batch(calls) / static_cast<double>(calls));
        check();

        times = slowest(times);
        std::sort(times.begin(), times.end());
        if (library_.rank() != 0) return;
        std::printf("result %zu %zu %d %.4f %.4f\n", bytes, calls, batches, times.front(),
                    times[times.size() / 2]);
        std::fflush(stdout);
    }

  private:
    double batch(std::size_t calls) {
        library_.barrier();
        const auto begin = Clock::now();
        for (std::size_t i = 0; i < calls; ++i) {
            library_.allreduce(send_.data(), receive_.data(), count_);
        }
        return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
    }

    // Of each of the times, that of the slowest rank, the same on all ranks.
    std::vector<double> slowest(const std::vector<double>& mine) {
        const std::size_t ranks = static_cast<std::size_t>(library_.size());
        std::vector<float> own(mine.size() * ranks);
        std::vector<float> all(own.size());
        const std::size_t first = mine.size() * static_cast<std::size_t>(library_.rank());
        std::copy(mine.begin(), mine.end(), own.begin() + static_cast<std::ptrdiff_t>(first));
        library_.allreduce(own.data(), all.data(), all.size());
        std::vector<double> most(mine.size());
        for (std::size_t i = 0; i < all.size(); ++i) {
            most[i % mine.size()] = std::max<double>(most[i % mine.size()], all[i]);
        }
        return most;
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
    Buffer send_;
    Buffer receive_;
    std::vector<float> period_;  // the sums, which repeat
};

}  // namespace
}  // namespace batchai::bench

int main(int argc, char** argv) {
    if (argc < 3) batchai::bench::fail("usage: driver MILLISECONDS BYTES...");
    const double budget = std::atof(argv[1]) * 1000;
    std::vector<std::size_t> sizes;
    for (int i = 2; i < argc; ++i) sizes.push_back(std::strtoull(argv[i], nullptr, 10));

    const auto library = batchai::bench::open_library();
    batchai::bench::Driver driver(*library, *std::max_element(sizes.begin(), sizes.end()), budget);
    for (const std::size_t bytes : sizes) driver.measure(bytes);
    return 0;
}

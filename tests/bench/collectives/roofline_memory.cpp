// SPDX-License-Identifier: Apache-2.0
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>

#include "buffer.hpp"
#include "roofline.hpp"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace batchai::bench {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration time) {
    return std::chrono::duration<double, std::micro>(time).count();
}

std::vector<int> cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    ::sched_getaffinity(0, sizeof set, &set);
    std::vector<int> found;
    for (int core = 0; core < CPU_SETSIZE; ++core) {
        if (CPU_ISSET(core, &set)) found.push_back(core);
    }
    return found;
}

void pin(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    ::sched_setaffinity(0, sizeof set, &set);
}

void pause() {
#ifdef __x86_64__
    _mm_pause();
#endif
}

using Copy = void (*)(float* to, const float* from, std::size_t bytes);

void plain(float* to, const float* from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
}

#ifdef __x86_64__
// Past the caches: the lines that are written need not be read first.
void streaming(float* to, const float* from, std::size_t bytes) {
    const std::size_t whole = bytes / 64 * 64;
    const auto* source = reinterpret_cast<const __m128i*>(from);
    auto* target = reinterpret_cast<__m128i*>(to);
    for (std::size_t i = 0; i < whole / 16; i += 4) {
        const __m128i a = _mm_load_si128(source + i);
        const __m128i b = _mm_load_si128(source + i + 1);
        const __m128i c = _mm_load_si128(source + i + 2);
        const __m128i d = _mm_load_si128(source + i + 3);
        _mm_stream_si128(target + i, a);
        _mm_stream_si128(target + i + 1, b);
        _mm_stream_si128(target + i + 2, c);
        _mm_stream_si128(target + i + 3, d);
    }
    _mm_sfence();
    std::memcpy(reinterpret_cast<char*>(to) + whole, reinterpret_cast<const char*>(from) + whole,
                bytes - whole);
}

// The same with the widest vectors there are.
__attribute__((target("avx512f"))) void streaming_wide(float* to, const float* from,
                                                       std::size_t bytes) {
    const std::size_t whole = bytes / 128 * 128;
    for (std::size_t i = 0; i < whole / 4; i += 32) {
        const __m512 a = _mm512_load_ps(from + i);
        const __m512 b = _mm512_load_ps(from + i + 16);
        _mm512_stream_ps(to + i, a);
        _mm512_stream_ps(to + i + 16, b);
    }
    _mm_sfence();
    std::memcpy(reinterpret_cast<char*>(to) + whole, reinterpret_cast<const char*>(from) + whole,
                bytes - whole);
}
#endif

std::vector<Copy> ways() {
    std::vector<Copy> all{plain};
#ifdef __x86_64__
    all.push_back(streaming);
    if (__builtin_cpu_supports("avx512f")) all.push_back(streaming_wide);
#endif
    return all;
}

// The threads' common state for one size and one way; the fastest of the batches, each as long as
// its slowest thread.
class Race {
  public:
    Race(int threads, double budget)
        : start_(threads), budget_(budget), took_(static_cast<std::size_t>(threads)) {}

    // On each thread.
    void run(int thread, Copy copy, float* to, const float* from, std::size_t bytes) {
        constexpr double kBatch = 2000;
        copy(to, from, bytes);
        std::size_t calls = 1;
        double spent = 0;
        for (int batch = 0; batch < 3 || spent < budget_; ++batch) {
            start_.arrive_and_wait();
            const auto begin = Clock::now();
            for (std::size_t i = 0; i < calls; ++i) {
                copy(to, from, bytes);
                asm volatile("" ::: "memory");  // each of them counts
            }
            took_[static_cast<std::size_t>(thread)] = microseconds(Clock::now() - begin);
            start_.arrive_and_wait();
            const double slowest = *std::max_element(took_.begin(), took_.end());
            const double one = slowest / static_cast<double>(calls);
            spent += slowest;
            if (slowest < kBatch / 4) {
                calls *= 4;
                --batch;
            } else if (thread == 0) {
                best_ = std::min(best_, one);
            }
        }
    }

    double best() const { return best_; }

  private:
    std::barrier<> start_;
    double budget_;
    std::vector<double> took_;
    double best_ = 1e300;
};

double best_copy(int ranks, double budget, std::size_t bytes, Copy copy) {
    const std::vector<int> where = cores();
    Race race(ranks, budget);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < ranks; ++thread) {
        threads.emplace_back([&, thread] {
            pin(where[static_cast<std::size_t>(thread) % where.size()]);
            const Buffer from(bytes);
            const Buffer to(bytes);
            race.run(thread, copy, to.data(), from.data(), bytes);
        });
    }
    for (std::thread& thread : threads) thread.join();
    return race.best();
}

}  // namespace

void measure_copies(int ranks, double milliseconds, const std::vector<std::size_t>& sizes) {
    for (const std::size_t bytes : sizes) {
        double best = 1e300;
        for (const Copy copy : ways()) {
            best = std::min(best, best_copy(ranks, milliseconds * 1000, bytes, copy));
        }
        std::printf("copy %zu %.4f\n", bytes, best);
    }
}

void measure_flag() {
    const std::vector<int> where = cores();
    if (where.size() < 2) return;
    constexpr std::uint64_t kTurns = 1000;
    constexpr int kBatches = 1000;
    alignas(128) std::atomic<std::uint64_t> ping = 0;
    alignas(128) std::atomic<std::uint64_t> pong = 0;
    std::thread other([&] {
        pin(where[1]);
        for (std::uint64_t turn = 1; turn <= kBatches * kTurns; ++turn) {
            while (ping.load(std::memory_order_acquire) != turn) pause();
            pong.store(turn, std::memory_order_release);
        }
    });
    double best = 1e300;
    std::thread one([&] {
        pin(where[0]);
        std::uint64_t turn = 0;
        for (int batch = 0; batch < kBatches; ++batch) {
            const auto begin = Clock::now();
            for (std::uint64_t i = 0; i < kTurns; ++i) {
                ping.store(++turn, std::memory_order_release);
                while (pong.load(std::memory_order_acquire) != turn) pause();
            }
            best = std::min(best, microseconds(Clock::now() - begin) / (2.0 * kTurns));
        }
    });
    one.join();
    other.join();
    std::printf("flag %.4f\n", best);
}

}  // namespace batchai::bench

// SPDX-License-Identifier: Apache-2.0
//
// How fast two processes, each bound to a core, get each other's data, both at once, in
// microseconds: each has just written S bytes and takes the other's.
//
//   stores, streaming, moves   through slots of shared memory, written in this way, of 256 KiB or S
//   large, small pages         straight from the other's buffer (process_vm_readv), with huge pages
//                              and with pages of 4 KiB
//
// Prints the best of 30 exchanges for each S, and how long a number takes to the other core.
#include <fmt/format.h>
#include <immintrin.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

#include "collectives/reduce/copy.hpp"
#include "collectives/reduce/moves.hpp"
#include "collectives/reduce/table.hpp"
#include "collectives/transport/reader.hpp"

namespace batchai::coll {
namespace {

constexpr std::size_t kMost = 64u << 20, kSlot = 256u << 10;
constexpr int kSlots = 2;

[[noreturn]] void fail(const std::string& what) {
    fmt::print(stderr, "two_cores: {}\n", what);
    std::_Exit(1);
}

std::byte* map(std::size_t bytes, int flags, int advice) {
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail("no memory");
    if (advice != 0) ::madvise(memory, bytes, advice);
    std::memset(memory, 1, bytes);
    return static_cast<std::byte*>(memory);
}

struct alignas(128) Counter {
    std::atomic<std::uint64_t> value;
};

// What both see, at the same address.
struct Shared {
    Counter met[2], filled[2], emptied[2];
    std::byte* buffer[2];
    pid_t pid[2];
    std::byte slots[2][kSlots][kSlot];
};

class Process {
  public:
    Process(Shared& shared, int self) : shared_(shared), self_(self), other_(1 - self) {
        cpu_set_t core;
        CPU_ZERO(&core);
        CPU_SET(self, &core);
        if (::sched_setaffinity(0, sizeof core, &core) != 0) fail("needs cores 0 and 1");
        shared_.pid[self_] = ::getpid();
    }

    // Allocates buffers for what follows.
    void begin(int advice) {
        if (from_ != nullptr) ::munmap(from_, kMost);
        if (to_ != nullptr) ::munmap(to_, kMost);
        from_ = map(kMost, MAP_PRIVATE, advice);
        to_ = map(kMost, MAP_PRIVATE, advice);
        shared_.buffer[self_] = from_;
        meet();
    }

    // Microseconds of the best exchange.
    template <class Exchange>
    double best(std::size_t bytes, Exchange exchange) {
        double best = 1e12;
        for (int i = 0; i < 30; ++i) {
            for (std::size_t at = 0; at < bytes; at += 64) from_[at] = static_cast<std::byte>(i);
            meet();
            const auto start = std::chrono::steady_clock::now();
            exchange();
            meet();
            const std::chrono::duration<double, std::micro> took =
                std::chrono::steady_clock::now() - start;
            best = std::min(best, took.count());
            if (to_[0] != static_cast<std::byte>(i)) fail("wrong data");
        }
        return best;
    }

    // Microseconds until each has seen a number of the other.
    double flag() {
        constexpr int kTimes = 10'000;
        meet();
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < kTimes; ++i) meet();
        const std::chrono::duration<double, std::micro> took =
            std::chrono::steady_clock::now() - start;
        return took.count() / kTimes;
    }
    // write: a function (to, from, bytes).
    template <class Write>
    void through_slots(std::size_t bytes, Write write) {
        for (std::size_t at = 0; at < bytes; at += kSlot) {
            const std::size_t n = std::min(kSlot, bytes - at);
            const std::uint64_t chunk = ++chunk_;
            if (chunk > kSlots) wait(shared_.emptied[other_], chunk - kSlots);
            write(shared_.slots[self_][chunk % kSlots], from_ + at, n);
            shared_.filled[self_].value.store(chunk, std::memory_order_release);
            wait(shared_.filled[other_], chunk);
            copy_bytes(to_ + at, shared_.slots[other_][chunk % kSlots], n);
            shared_.emptied[self_].value.store(chunk, std::memory_order_release);
        }
    }
    void read(std::size_t bytes) {
        const Reader reader({ReadMark{shared_.pid[0], 0, 0}, ReadMark{shared_.pid[1], 0, 0}});
        if (const int error = reader.read(other_, to_, shared_.buffer[other_], bytes)) {
            fail(fmt::format("process_vm_readv: {}", std::strerror(error)));
        }
    }
    void meet() {
        const std::uint64_t count = ++meetings_;
        shared_.met[self_].value.store(count, std::memory_order_release);
        wait(shared_.met[other_], count);
    }

  private:
    static void wait(const Counter& counter, std::uint64_t count) {
        for (unsigned looks = 1; counter.value.load(std::memory_order_acquire) < count; ++looks) {
            _mm_pause();
            if (looks % (1u << 24) == 0 && ::waitpid(-1, nullptr, WNOHANG) > 0) std::_Exit(1);
        }
    }

    Shared& shared_;
    int self_, other_;
    std::byte *from_ = nullptr, *to_ = nullptr;
    std::uint64_t meetings_ = 0, chunk_ = 0;
};

void run(Shared& shared, int self) {
    const Table& table = table_of(best_instruction_set());
    const auto stream = [&](void* to, const void* from, std::size_t bytes) {
        table.stream(to, from, bytes);
        end_streaming();
    };
    const auto move_any = [](void* to, const void* from, std::size_t bytes) {
        move(to, from, bytes, Moves::any);
    };
    Process process(shared, self);
    process.begin(MADV_HUGEPAGE);
    const double flag = process.flag();
    if (self == 0) {
        const char* const kinds[] = {"none", "aligned alike", "any"};
        fmt::print("A number to the other core: {:.3f} us. Fast moves: {}.\n\n", flag,
                   kinds[static_cast<int>(measure_moves())]);
        fmt::print("{:>9} {:>10} {:>10} {:>10} {:>12} {:>12}\n", "bytes", "stores", "streaming",
                   "moves", "large pages", "small pages");
    }
    for (std::size_t bytes = 4096; bytes <= kMost; bytes *= 4) {
        process.begin(MADV_HUGEPAGE);
        const double stores =
            process.best(bytes, [&] { process.through_slots(bytes, table.copy); });
        const double streaming = process.best(bytes, [&] { process.through_slots(bytes, stream); });
        const double moves = process.best(bytes, [&] { process.through_slots(bytes, move_any); });
        const double large = process.best(bytes, [&] { process.read(bytes); });
        process.begin(MADV_NOHUGEPAGE);
        const double small = process.best(bytes, [&] { process.read(bytes); });
        if (self != 0) continue;
        fmt::print("{:>9} {:>10.2f} {:>10.2f} {:>10.2f} {:>12.2f} {:>12.2f}\n", bytes, stores,
                   streaming, moves, large, small);
    }
}

}  // namespace
}  // namespace batchai::coll

int main() {
    using namespace batchai::coll;
    auto* shared = new (map(sizeof(Shared), MAP_SHARED, 0)) Shared{};
    ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);  // fails without Yama
    const pid_t child = ::fork();
    if (child < 0) fail("fork");
    if (child == 0) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    run(*shared, child == 0 ? 1 : 0);
    if (child == 0) std::_Exit(0);
    int status = 0;
    ::waitpid(child, &status, 0);
    return status == 0 ? 0 : 1;
}

// SPDX-License-Identifier: Apache-2.0
#include "collectives/reduce/moves.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <vector>

#include "collectives/reduce/table.hpp"

namespace batchai::coll {

namespace {

constexpr std::size_t kLine = 64;

std::size_t place_in_line(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) % kLine;
}

void move_bytes(void* to, const void* from, std::size_t bytes) {
#if defined(__x86_64__)
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes)::"memory");
#else
    std::memcpy(to, from, bytes);
#endif
}

// to: aligned to a line.
void move_lines(std::byte* to, const std::byte* from, std::size_t bytes, Moves moves) {
    if (moves == Moves::any || place_in_line(from) == 0) return move_bytes(to, from, bytes);
    static const Copy copy = table_of(best_instruction_set()).copy;  // it never moves
    alignas(kLine) std::byte block[4096];
    for (std::size_t at = 0; at < bytes; at += sizeof block) {
        const std::size_t n = std::min(sizeof block, bytes - at);
        copy(block, from + at, n);
        move_bytes(to + at, block, n);
    }
}

#if defined(__x86_64__) && !defined(BATCHAI_SANITIZED)

template <class Work>
auto shortest_time(Work work) {
    auto best = std::chrono::nanoseconds::max();
    for (int i = 0; i < 8; ++i) {
        const auto start = std::chrono::steady_clock::now();
        for (int repeated = 0; repeated < 8; ++repeated) work();  // clocks may be slow
        best = std::min<std::chrono::nanoseconds>(best, std::chrono::steady_clock::now() - start);
    }
    return best;
}

#endif

}  // namespace

Moves measure_moves() {
// The sanitizers do not see what `rep movsb` reads and writes.
#if defined(__x86_64__) && !defined(BATCHAI_SANITIZED)
    __builtin_cpu_init();
    if (!__builtin_cpu_is("amd")) return Moves::none;
    constexpr std::size_t kBytes = 32u << 10;
    std::vector<std::byte> memory(2 * (kBytes + kLine));
    std::byte* to = memory.data() + (kLine - place_in_line(memory.data())) % kLine;
    std::byte* from = to + kBytes;
    const Copy copy = table_of(best_instruction_set()).copy;
    const auto copied = shortest_time([&] { copy(to, from, kBytes); });
    const auto alike = shortest_time([&] { move_bytes(to, from, kBytes); });
    const auto differently = shortest_time([&] { move_bytes(to, from + kLine / 4, kBytes); });
    if (alike > 2 * copied) return Moves::none;
    return differently > 2 * copied ? Moves::aligned_alike : Moves::any;
#else
    return Moves::none;
#endif
}

void move(void* to, const void* from, std::size_t bytes, Moves moves) {
    auto* out = static_cast<std::byte*>(to);
    const auto* in = static_cast<const std::byte*>(from);
    const std::size_t before = std::min(bytes, (kLine - place_in_line(to)) % kLine);
    const std::size_t lines = (bytes - before) / kLine * kLine, after = before + lines;
    std::memcpy(out, in, before);
    move_lines(out + before, in + before, lines, moves);
    std::memcpy(out + after, in + after, bytes - after);
}

}  // namespace batchai::coll

// SPDX-License-Identifier: Apache-2.0
#include "collectives/reduce/copy.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cstring>

#include "collectives/reduce/moves.hpp"
#include "collectives/reduce/table.hpp"

namespace batchai::coll {

namespace {

Copy best_copy() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_is("amd")) return table_of(best_instruction_set()).copy;
#endif
    return [](void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); };
}

struct Ways {
    const Copy cached = best_copy(), past_caches = table_of(best_instruction_set()).stream;
    const Moves moves = measure_moves();
};

const Ways& ways() {
    static const Ways ways;
    return ways;
}

}  // namespace

void copy_bytes(void* to, const void* from, std::size_t bytes, bool streaming) {
    constexpr std::size_t kMoveFrom = 16u << 10;  // shorter ones are in the first-level cache
    if (streaming) return ways().past_caches(to, from, bytes);
    if (bytes >= kMoveFrom && ways().moves == Moves::any) return move(to, from, bytes, Moves::any);
    ways().cached(to, from, bytes);
}

void copy_for_others(void* to, const void* from, std::size_t bytes) {
    constexpr std::size_t kMoveFrom = 4u << 10;
    const Moves moves = ways().moves;
    if (bytes >= kMoveFrom && moves != Moves::none) return move(to, from, bytes, moves);
    ways().cached(to, from, bytes);
}

bool moves_for_others() {
    return ways().moves != Moves::none;
}

void end_streaming() {
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

}  // namespace batchai::coll

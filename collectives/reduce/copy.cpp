// SPDX-License-Identifier: Apache-2.0
#include "collectives/reduce/copy.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cstring>

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

}  // namespace

void copy_bytes(void* to, const void* from, std::size_t bytes, bool streaming) {
    static const Copy cached = best_copy(), past_caches = table_of(best_instruction_set()).stream;
    (streaming ? past_caches : cached)(to, from, bytes);
}

void end_streaming() {
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

}  // namespace batchai::coll

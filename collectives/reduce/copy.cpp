// SPDX-License-Identifier: Apache-2.0
#include "collectives/reduce/copy.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cstring>

#include "collectives/reduce/table.hpp"

namespace batchai::coll {

void copy(void* to, const void* from, std::size_t bytes, bool streaming, InstructionSet set) {
    if (streaming) {
        table_of(set).stream(to, from, bytes);
    } else {
        std::memcpy(to, from, bytes);
    }
}

void end_streaming() {
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

}  // namespace batchai::coll

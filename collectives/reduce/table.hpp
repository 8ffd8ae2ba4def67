// SPDX-License-Identifier: Apache-2.0
//
// The functions of one instruction set. portable.cpp, avx2.cpp and avx512.cpp each define one
// table: the same loops (loops.hpp, copies.hpp), compiled with other flags. Their parts have
// internal linkage and use nothing of the standard library that could become a function. If several
// object files have the same function, the linker takes one of them. It could have instructions
// that the processor lacks.
#pragma once

#include "batchai/collectives.h"
#include "collectives/reduce/kernels.hpp"

namespace batchai::coll {

// to and from must not overlap.
using Copy = void (*)(void* to, const void* from, std::size_t bytes);

struct Table {
    struct Row {
        Reduction ops[BATCHAI_COLL_PRODUCT + 1];
    };
    Row types[BATCHAI_COLL_BOOL + 1];
    Copy copy;
    // Its stores bypass the caches. Call end_streaming() afterwards (copy.hpp).
    Copy stream;
};

extern const Table kPortable, kAvx2, kAvx512;

const Table& table_of(InstructionSet set);

}  // namespace batchai::coll

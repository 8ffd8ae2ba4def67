// SPDX-License-Identifier: Apache-2.0
//
// Reduction kernels, for every type and operation that an allreduce takes, as functions for the
// instruction set that this processor has (table.hpp). They give the same bits whatever it is; only
// which of several NaNs a result is may differ.
//
// Numbers of 16 bits are computed as float32, the others as what they are. A kernel combines in the
// order of its inputs and rounds once, when it stores; a result that passes through several kernels
// stays wide in between: `widen`, `carry` any number of times, `finish`. Rounding is to the
// nearest, ties to even, and keeps denormal numbers, infinities and NaN. Integers wrap around.
// Booleans are bytes, any but 0 being true; sum and max are "or", product and min "and", results 0
// or 1. Min and max return a NaN where there is one.
// Pointers need no alignment.
#pragma once

#include <cstddef>
#include <cstdint>

namespace batchai::coll {

// The scaling of every input as it is read, and of the result before it is rounded: a division,
// which floating types round and integers truncate toward zero, and then a multiplication. Integers
// and booleans have no factors.
struct Scale {
    double before = 1, after = 1;
    int divisor = 1;  // of an average: the number of ranks

    bool operator==(const Scale&) const = default;
};

// out[i] = ((in[0][i] op in[1][i]) op in[2][i]) op ...; inputs >= 1. out may be one of the inputs
// where both have the same width.
using Kernel = void (*)(void* out, const void* const* in, int inputs, std::size_t count,
                        const Scale& scale);

struct Reduction {
    std::size_t element = 0;   // bytes of a number
    std::size_t wide = 0;      // bytes of a number while it is computed
    Kernel combine = nullptr;  // numbers to a number
    Kernel widen = nullptr;    // numbers to a wide one
    Kernel carry = nullptr;    // wide ones to a wide one
    Kernel finish = nullptr;   // wide ones to a number
};

enum class InstructionSet { portable, avx2, avx512 };

// Whether this processor has it and this library was built for it.
bool runs_here(InstructionSet set);
// The last one that runs here.
InstructionSet best_instruction_set();

// Numbers of batchai_coll_type and batchai_coll_op; booleans have no average. set: one that runs
// here.
Reduction reduction_of(std::uint8_t type, std::uint8_t op,
                       InstructionSet set = best_instruction_set());

}  // namespace batchai::coll

// SPDX-License-Identifier: Apache-2.0
//
// Reduction kernels, for every type and operation of an allreduce, as functions for this
// processor's instruction set (table.hpp). All instruction sets give the same bits, except that any
// of several NaNs may be the result.
//
// 16-bit numbers are computed as float32, other numbers in their own type. A kernel combines in the
// order of its inputs and rounds once, when it stores. A result that passes through several kernels
// stays wide in between: `widen`, `carry` any number of times, `finish`. Rounding is to the
// nearest, ties to even, and preserves denormal numbers, infinities and NaN. Integers wrap around.
// Booleans are bytes; any byte except 0 is true. Sum and max are "or", product and min "and", with
// results 0 or 1. Min and max return NaN if an input is NaN. Pointers need no alignment.
#pragma once

#include <cstddef>
#include <cstdint>

namespace batchai::coll {

// Factors: `before` for every input as it is read; `divisor` and then `after` for the result before
// it is rounded. Floating types round the division, integers truncate it toward zero. Integers and
// booleans have no factors.
struct Scale {
    double before = 1, after = 1;
    int divisor = 1;  // of an average: the number of ranks

    bool operator==(const Scale&) const = default;
};

// out[i] = ((in[0][i] op in[1][i]) op in[2][i]) op ...; inputs >= 1. out may be one of the inputs
// if both have the same width.
using Kernel = void (*)(void* out, const void* const* in, int inputs, std::size_t count,
                        const Scale& scale);

struct Reduction {
    std::size_t element = 0;   // bytes of a number
    std::size_t wide = 0;      // bytes of a number while it is computed
    Kernel combine = nullptr;  // numbers to numbers
    Kernel widen = nullptr;    // numbers to wide numbers
    Kernel carry = nullptr;    // wide numbers to wide numbers
    Kernel finish = nullptr;   // wide numbers to numbers
};

enum class InstructionSet { portable, avx2, avx512 };

// Whether this processor has the instruction set and this library was built for it.
bool runs_here(InstructionSet set);
// The last instruction set that runs here.
InstructionSet best_instruction_set();

// type, op: values of batchai_coll_type and batchai_coll_op; booleans have no average. set: must
// run here.
Reduction reduction_of(std::uint8_t type, std::uint8_t op,
                       InstructionSet set = best_instruction_set());

}  // namespace batchai::coll

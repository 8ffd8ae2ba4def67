// SPDX-License-Identifier: Apache-2.0
//
// Reduction kernels, for every type and operation that an allreduce takes. Plain loops that the
// compiler vectorises; the order of the inputs is the order of the operations, so that the result's
// bits do not depend on vector width.
//
// Integers wrap around. Min and max return a NaN where there is one. An average is a sum that
// `divide` ends, once, after the last input: floats divide, integers truncate toward zero.
#pragma once

#include <cstddef>
#include <cstdint>

namespace batchai::coll {

struct Reduction {
    std::size_t element = 0;  // bytes
    // out[i] = (in[0][i] op in[1][i]) op in[2][i] ...; inputs >= 1. out may be in[0] or in[1].
    void (*combine)(void* out, const void* const* in, int inputs, std::size_t count) = nullptr;
    // data[i] /= ranks; null where the operation needs no such end.
    void (*divide)(void* data, std::size_t count, int ranks) = nullptr;
};

// The type must not be BATCHAI_COLL_UINT8.
Reduction reduction_of(std::uint8_t type, std::uint8_t op);

}  // namespace batchai::coll

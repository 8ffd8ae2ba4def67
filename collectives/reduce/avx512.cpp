// SPDX-License-Identifier: Apache-2.0
//
// The kernels for processors with AVX-512 F, BW, DQ and VL.
#include "collectives/reduce/copies.hpp"
#include "collectives/reduce/loops.hpp"

namespace batchai::coll {

constinit const Table kAvx512 = table(copy, stream);

}  // namespace batchai::coll

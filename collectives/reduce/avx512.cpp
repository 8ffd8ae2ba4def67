// SPDX-License-Identifier: Apache-2.0
//
// The kernels for processors with AVX-512 F, BW, DQ and VL.
#include "collectives/reduce/loops.hpp"
#include "collectives/reduce/stream.hpp"

namespace batchai::coll {

constinit const Table kAvx512 = table(stream);

}  // namespace batchai::coll

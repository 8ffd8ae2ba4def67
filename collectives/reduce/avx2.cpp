// SPDX-License-Identifier: Apache-2.0
//
// The kernels for processors with AVX2 and F16C.
#include "collectives/reduce/loops.hpp"
#include "collectives/reduce/stream.hpp"

namespace batchai::coll {

constinit const Table kAvx2 = table(stream);

}  // namespace batchai::coll

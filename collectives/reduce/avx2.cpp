// SPDX-License-Identifier: Apache-2.0
//
// The kernels for processors with AVX2 and F16C.
#include "collectives/reduce/copies.hpp"
#include "collectives/reduce/loops.hpp"

namespace batchai::coll {

constinit const Table kAvx2 = table(copy, stream);

}  // namespace batchai::coll

// SPDX-License-Identifier: Apache-2.0
//
// The kernels for every processor of the architecture.
#include "collectives/reduce/loops.hpp"
#include "collectives/reduce/stream.hpp"

namespace batchai::coll {

constinit const Table kPortable = table(stream);

}  // namespace batchai::coll

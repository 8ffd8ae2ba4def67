// SPDX-License-Identifier: Apache-2.0
//
// The kernels for every processor of the architecture.
#include "collectives/reduce/copies.hpp"
#include "collectives/reduce/loops.hpp"

namespace batchai::coll {

constinit const Table kPortable = table(copy, stream);

}  // namespace batchai::coll

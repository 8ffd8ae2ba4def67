// SPDX-License-Identifier: Apache-2.0
//
// The kinds of operations. Each has a source of its own, which says how it works and what it costs.
#pragma once

#include <memory>

#include "collectives/algorithm/operation.hpp"

namespace batchai::coll {

std::unique_ptr<Operation> make_allgather(Context& context);
std::unique_ptr<Operation> make_allreduce(Context& context);
std::unique_ptr<Operation> make_alltoall(Context& context);
std::unique_ptr<Operation> make_beside(Context& context);
std::unique_ptr<Operation> make_broadcast(Context& context);
std::unique_ptr<Operation> make_reduce_scatter(Context& context);

}  // namespace batchai::coll

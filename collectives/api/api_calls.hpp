// SPDX-License-Identifier: Apache-2.0
//
// Makes a Call from the arguments of an operation, for every kind of memory. An error says which
// argument is wrong. Buffers and counts remain the caller's.
#pragma once

#include <cstddef>
#include <optional>

#include "batchai/collectives.h"
#include "collectives/common/call.hpp"
#include "sys/result.hpp"

namespace batchai::coll::api {

struct Ranks {
    int own = 0;
    int all = 1;
};

struct CheckedCall {
    Call call;
    // The extents of this rank's buffers, in elements. The buffers are not checked yet.
    std::size_t given = 0, got = 0;
    // The send buffer may lie in receive, at this element; none: the two must not overlap.
    std::optional<std::size_t> in_place = {};
};

struct Buffers {
    const void* send;
    void* receive;
    batchai_coll_type type;
};

struct Reduction {
    batchai_coll_op op;
    const batchai_coll_scaling* scaling;  // may be null
};

sys::Result<CheckedCall> allreduce(Ranks, const Buffers&, std::size_t count, const Reduction&);
sys::Result<CheckedCall> broadcast(Ranks, void* buffer, batchai_coll_type, std::size_t count,
                                   int root);
sys::Result<CheckedCall> allgather(Ranks, const Buffers&, std::size_t count);
sys::Result<CheckedCall> alltoall(Ranks, const Buffers&, std::size_t count);
// Counts of all ranks' blocks; null is an error.
sys::Result<CheckedCall> allgatherv(Ranks, const Buffers&, const std::size_t* counts);
sys::Result<CheckedCall> reduce_scatter(Ranks, const Buffers&, const std::size_t* counts,
                                        const Reduction&);
sys::Result<CheckedCall> alltoallv(Ranks, const Buffers&, const std::size_t* send_counts,
                                   const std::size_t* receive_counts);

// Checks that both buffers are not null if they have elements. For host memory only; a device
// checks its own memory further.
sys::Result<void> check_buffers(const CheckedCall&);
// Checks that the buffers do not overlap, or are the same if the operation allows it.
sys::Result<void> check_overlap(const CheckedCall&);

}  // namespace batchai::coll::api

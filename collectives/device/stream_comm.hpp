// SPDX-License-Identifier: Apache-2.0
//
// StreamComm: ranks whose devices exchange data by themselves, by operations that are orders in a
// stream like any others: NcclComm (nccl.hpp), and one of the host's for tests.
//
// Nothing here waits. An operation may take its time to be put into its stream, in which other
// ranks may have to come first; ready() says whether it is. Until then nothing else may be called,
// and nothing may be ordered in the operation's stream: an event recorded there could come before
// the operation. All ranks give their operations in the same order.
#pragma once

#include <cstddef>

#include "collectives/device/device.hpp"

namespace batchai::coll {

class StreamComm {
  public:
    StreamComm() = default;
    StreamComm(const StreamComm&) = delete;
    StreamComm& operator=(const StreamComm&) = delete;
    virtual ~StreamComm() = default;

    // Whether what was called last is done: the operation is in its stream. An error also where an
    // earlier operation has failed, here or on other ranks.
    virtual sys::Result<bool> ready() = 0;

    // Not of averages, and of booleans that are 0 or 1.
    // from holds a block of count numbers for each rank; to gets the reduction of this rank's, and
    // may be that block of from.
    virtual sys::Result<void> reduce_scatter(const std::byte* from, std::byte* to,
                                             std::size_t count, batchai_coll_type type,
                                             batchai_coll_op op, Device::Stream stream) = 0;
    // to gets a block of count numbers of each rank; from may be this rank's there.
    virtual sys::Result<void> all_gather(const std::byte* from, std::byte* to, std::size_t count,
                                         batchai_coll_type type, Device::Stream stream) = 0;
    virtual sys::Result<void> all_reduce(const std::byte* from, std::byte* to, std::size_t count,
                                         batchai_coll_type type, batchai_coll_op op,
                                         Device::Stream stream) = 0;
};

}  // namespace batchai::coll

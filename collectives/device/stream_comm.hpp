// SPDX-License-Identifier: Apache-2.0
//
// StreamComm: ranks whose devices exchange data by themselves, by operations that are orders in a
// stream like any others: NcclComm (nccl.hpp), and one of the host's for tests.
//
// No call waits. It may take time until an operation is in its stream, because other ranks may have
// to call it first; ready() says whether it is. Until then call no other function, and order
// nothing in the operation's stream: an event recorded there could come before the operation. All
// ranks call their operations in the same order.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

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

    // The end, on all ranks, after their last operation: waits for it and for the others, in
    // ready(). What ends without it aborts what is under way.
    virtual sys::Result<void> finish() = 0;
};

// Makes them, for one device.
class StreamComms {
  public:
    // By which the ranks of one find each other: one of them makes it and tells the others. That
    // rank answers them from then on, until its process ends.
    using Id = std::array<std::byte, 128>;

    StreamComms() = default;
    StreamComms(const StreamComms&) = delete;
    StreamComms& operator=(const StreamComms&) = delete;
    virtual ~StreamComms() = default;

    virtual bool are_possible() = 0;
    virtual sys::Result<Id> make_id() = 0;
    // Not usable before ready(). Does not wait for other ranks. Destroy it before the device.
    virtual sys::Result<std::unique_ptr<StreamComm>> create(const Id& id, int rank, int size) = 0;
};

}  // namespace batchai::coll

// SPDX-License-Identifier: Apache-2.0
//
// StreamComm: a communicator of ranks whose devices exchange data directly. Its operations are
// orders in a stream like any others. NcclComm (nccl.hpp) implements it; tests have an
// implementation in host memory.
//
// No call waits. It may take time until an operation is in its stream, because other ranks may have
// to call it first; ready() reports it. Until then call no other function, and order nothing in the
// operation's stream: an event recorded there could come before the operation. All ranks call their
// operations in the same order.
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

    // Whether the last call is done: its operation is in the stream. An error may also come from an
    // earlier operation, here or on other ranks.
    virtual sys::Result<bool> ready() = 0;

    // No averages; booleans must be 0 or 1. from: a block of count numbers for each rank. to: gets
    // the reduction of this rank's block, and may be that block of from.
    virtual sys::Result<void> reduce_scatter(const std::byte* from, std::byte* to,
                                             std::size_t count, batchai_coll_type type,
                                             batchai_coll_op op, Device::Stream stream) = 0;
    // to: gets a block of count numbers from each rank. from: may be this rank's block there.
    virtual sys::Result<void> all_gather(const std::byte* from, std::byte* to, std::size_t count,
                                         batchai_coll_type type, Device::Stream stream) = 0;
    virtual sys::Result<void> all_reduce(const std::byte* from, std::byte* to, std::size_t count,
                                         batchai_coll_type type, batchai_coll_op op,
                                         Device::Stream stream) = 0;

    // Collective, after the last operation: ends the communicator. ready() waits for this rank and
    // the others. Destroying it without finish() aborts pending work.
    virtual sys::Result<void> finish() = 0;
};

// Makes StreamComms for one device.
class StreamComms {
  public:
    // Identifies one StreamComm: one rank makes the id and sends it to the others. That rank's
    // process answers them until it ends.
    using Id = std::array<std::byte, 128>;

    StreamComms() = default;
    StreamComms(const StreamComms&) = delete;
    StreamComms& operator=(const StreamComms&) = delete;
    virtual ~StreamComms() = default;

    virtual bool are_possible() = 0;
    virtual sys::Result<Id> make_id() = 0;
    // Not usable before ready(). create() does not wait for other ranks. Destroy the StreamComm
    // before the device.
    virtual sys::Result<std::unique_ptr<StreamComm>> create(const Id& id, int rank, int size) = 0;
};

}  // namespace batchai::coll

// SPDX-License-Identifier: Apache-2.0
//
// DeviceOperation: a collective operation on a device's memory, as a state machine that gives
// orders to the device: step() never waits for it. Done means ordered: what is in the call's stream
// from then on comes after the result.
#pragma once

#include <algorithm>
#include <string>

#include "collectives/algorithm/operation.hpp"
#include "collectives/device/device.hpp"

namespace batchai::coll {

struct DeviceCall {
    const std::byte* send = nullptr;
    std::byte* receive = nullptr;  // may be send
    std::size_t count = 0;
    batchai_coll_type type = BATCHAI_COLL_FLOAT32;
    batchai_coll_op op = BATCHAI_COLL_SUM;
    double before = 1, after = 1;
    Device::Stream stream = nullptr;  // what is in it already comes before the operation
    bool captured = false;            // the stream is: all that is ordered is kept for a graph
    Kind kind = Kind::allreduce;      // this and all below as in Call and its signature
    int root = 0;
    std::span<const std::size_t> counts = {}, receive_counts = {};
    std::uint32_t layout = 0;
};

// How many of `count` numbers go into a chunk, where `slots` of them are under way and at most
// `most` fit: so few that there are some chunks to overlap, but not so few that a chunk costs more
// to order than to do; whole cache lines, where they fit.
inline std::size_t numbers_per_chunk(std::size_t count, std::size_t element, std::size_t slots,
                                     std::size_t most) {
    constexpr std::size_t kLeast = 256u << 10;  // bytes
    const std::size_t line = kAlignment / element;
    const std::size_t wanted = (count / (2 * slots) / line + 1) * line;
    return std::clamp(wanted, std::min(most, kLeast / element), most);
}

class DeviceOperation {
  public:
    DeviceOperation() = default;
    DeviceOperation(const DeviceOperation&) = delete;
    DeviceOperation& operator=(const DeviceOperation&) = delete;
    virtual ~DeviceOperation() = default;

    // Of the last call nothing is under way on the host.
    virtual void begin(const DeviceCall& call) = 0;
    virtual Step step() = 0;
    // For people: "split rails, NCCL inside nodes".
    virtual std::string name() const = 0;
    // Why step() has failed, on the host; OK where the device has, of which Orders knows why.
    const Failure& failure() const { return failure_; }

  protected:
    Failure failure_;
};

}  // namespace batchai::coll

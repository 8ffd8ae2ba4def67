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

// A call on the device's memory. What is in the stream already comes before the operation.
struct DeviceCall : Call {
    Device::Stream stream = nullptr;

    std::size_t count() const { return signature.count; }
    batchai_coll_type type() const { return static_cast<batchai_coll_type>(signature.type); }
    batchai_coll_op op() const { return static_cast<batchai_coll_op>(signature.op); }
};

inline DeviceCall allreduce_call(const std::byte* send, std::byte* receive, std::size_t count,
                                 batchai_coll_type type = BATCHAI_COLL_FLOAT32,
                                 batchai_coll_op op = BATCHAI_COLL_SUM) {
    DeviceCall call;
    call.signature.kind = Kind::allreduce;
    call.signature.count = count;
    call.signature.type = static_cast<std::uint8_t>(type);
    call.signature.op = static_cast<std::uint8_t>(op);
    call.send = send;
    call.receive = receive;
    return call;
}

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

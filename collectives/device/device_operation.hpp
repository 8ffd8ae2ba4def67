// SPDX-License-Identifier: Apache-2.0
//
// DeviceOperation: a way of an allreduce of device memory, as a state machine. step() gives orders
// to the device and never waits for it. Done means that all orders are given: work that is put into
// the call's stream after that comes after the result.
#pragma once

#include <algorithm>
#include <string>

#include "collectives/algorithm/operation.hpp"
#include "collectives/device/device.hpp"

namespace batchai::coll {

// A call on device memory. The operation comes after the work that is in the stream already.
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

// The numbers per chunk if `count` numbers are divided over `slots` chunks in progress and at most
// `most` numbers fit a chunk. Chunks are small enough to overlap, and large enough that the device
// needs longer for one than the host for its orders. They are whole cache lines if those fit.
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

    // Starts a call. The host must have completed its part of the last call.
    virtual void begin(const DeviceCall& call) = 0;
    virtual Step step() = 0;
    // For the plan: "split rails, NCCL inside nodes".
    virtual std::string name() const = 0;
    // The reason why step() has failed on the host. OK: the device has failed, and Orders has the
    // error.
    const Failure& failure() const { return failure_; }

  protected:
    Failure failure_;
};

}  // namespace batchai::coll

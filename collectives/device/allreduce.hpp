// SPDX-License-Identifier: Apache-2.0
//
// DeviceAllreduce: an allreduce of numbers in a device's memory, as a state machine that gives
// orders to the device: step() never waits for it. Done means ordered: what is in the call's stream
// from then on comes after the result.
#pragma once

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
    Device::Stream stream = nullptr;  // what is in it already comes before the allreduce
};

class DeviceAllreduce {
  public:
    DeviceAllreduce() = default;
    DeviceAllreduce(const DeviceAllreduce&) = delete;
    DeviceAllreduce& operator=(const DeviceAllreduce&) = delete;
    virtual ~DeviceAllreduce() = default;

    // Of the last call nothing is under way on the host.
    virtual void begin(const DeviceCall& call) = 0;
    virtual Step step() = 0;
    // For people: "split rails, NCCL inside nodes".
    virtual std::string name() const = 0;
    // Why step() has failed.
    const Failure& failure() const { return failure_; }

  protected:
    Failure failure_;
};

}  // namespace batchai::coll

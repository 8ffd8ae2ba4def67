// SPDX-License-Identifier: Apache-2.0
//
// FlatAllreduce: the allreduce of device memory by one StreamComm of all ranks: by NCCL, which
// chooses its own algorithm within and between nodes.
//
// Cost for S bytes on P ranks, for NCCL's rings: 2 (P-1)/P S / B. B: bandwidth of the slowest link
// on the ring; between nodes that is all rails together.
#pragma once

#include <memory>

#include "collectives/device/device_operation.hpp"
#include "collectives/device/orders.hpp"
#include "collectives/device/stream_comm.hpp"

namespace batchai::coll {

class FlatAllreduce final : public DeviceOperation {
  public:
    static sys::Result<std::unique_ptr<FlatAllreduce>> create(Device& device, Orders& orders,
                                                              StreamComm& comm, int ranks);

    void begin(const DeviceCall& call) override;
    Step step() override;
    std::string name() const override { return "NCCL over all ranks"; }

  private:
    FlatAllreduce(Orders& orders, StreamComm& comm, int ranks)
        : orders_(orders), comm_(comm), ranks_(ranks) {}
    void order();
    void scale();

    Orders& orders_;
    StreamComm& comm_;
    int ranks_;
    Device::Stream stream_ = nullptr;
    Device::Event started_ = nullptr, ended_ = nullptr;
    DeviceCall call_;
    bool given_ = false;
};

}  // namespace batchai::coll

// SPDX-License-Identifier: Apache-2.0
//
// AloneAllreduce: the allreduce of device memory in a communicator of one rank. The result is the
// rank's own numbers, scaled. The call's stream orders all work.
#pragma once

#include "collectives/device/device_operation.hpp"
#include "collectives/device/orders.hpp"

namespace batchai::coll {

class AloneAllreduce final : public DeviceOperation {
  public:
    explicit AloneAllreduce(Orders& orders) : orders_(orders) {}

    void begin(const DeviceCall& call) override { call_ = call; }
    Step step() override {
        auto scaled =
            Device::Reduction::of_one(call_.send, call_.receive, call_.count(), call_.type());
        scaled.before = call_.signature.before;
        scaled.after = call_.signature.after;
        orders_.reduce(scaled, call_.stream);
        return orders_.error() ? Step::failed : Step::done;
    }
    std::string name() const override { return "on the GPU"; }

  private:
    Orders& orders_;
    DeviceCall call_;
};

}  // namespace batchai::coll

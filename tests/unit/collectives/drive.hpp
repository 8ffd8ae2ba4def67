// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

#include "collectives/device/device_operation.hpp"
#include "collectives/device/orders.hpp"

namespace batchai::coll {

// Steps an operation that no other code drives, until it is ordered. A failure is an exception.
inline void drive(DeviceOperation& operation, const Orders& orders, const DeviceCall& call) {
    operation.begin(call);
    for (Step step = Step::idle; step != Step::done; step = operation.step()) {
        if (step != Step::failed) continue;
        const auto& of_device = orders.error();
        throw std::runtime_error(of_device ? of_device->message : operation.failure().sentence);
    }
}

}  // namespace batchai::coll

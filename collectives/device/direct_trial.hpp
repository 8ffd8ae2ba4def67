// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/comm/comm.hpp"
#include "collectives/device/device.hpp"

namespace batchai::coll {

// Collective in `rail`, a communicator that nothing else uses: sums numbers from device to device
// and looks at the sums. That UCX claims to carry a device's memory does not mean that its drivers
// and the network do, so this is tried before any way depends on it. The error is this rank's own;
// other ranks may have had none. A few MiB of the device stay allocated until its end.
sys::Result<void> try_direct(Communicator& rail, Device& device);

}  // namespace batchai::coll

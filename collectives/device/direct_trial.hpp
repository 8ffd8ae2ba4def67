// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/comm/comm.hpp"
#include "collectives/device/device.hpp"

namespace batchai::coll {

// Tries a rail from device to device: sums numbers and checks the sums. UCX may claim to carry
// device memory although the drivers or the network cannot, so call it before any way uses the
// rail. Collective in `rail`, a communicator that no other code uses. The error is this rank's own;
// other ranks may have succeeded. A few MiB of device memory stay allocated until the device ends.
sys::Result<void> try_direct(Communicator& rail, Device& device);

}  // namespace batchai::coll

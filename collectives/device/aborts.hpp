// SPDX-License-Identifier: Apache-2.0
//
// Aborts: destroys a device and its StreamComms after a failure, while GPU work that never ends by
// itself may still run. NCCL aborts the work of a communicator at once. It then waits for all other
// work on the GPU (its issue 1013), as CUDA does when memory is freed. That work may belong to
// another communicator that must be aborted meanwhile, or to another DeviceCommunicator that the
// caller closes next. NCCL also waits for the end of graphs with its operations. So each
// communicator is aborted in a thread of its own, which runs for as long as the abort takes.
#pragma once

#include <chrono>
#include <memory>

#include "collectives/device/device.hpp"
#include "collectives/device/stream_comm.hpp"

namespace batchai::coll {

class Aborts {
  public:
    // Ends the communicator, if there is one, and releases the device, which ends with its last
    // owner. If no thread can be started, both stay as they are until the process ends.
    void begin(std::unique_ptr<StreamComm> comm, std::shared_ptr<Device> device);
    // Returns when all have ended, or when the time limit is over.
    void wait(std::chrono::milliseconds limit);

  private:
    struct Running;
    std::shared_ptr<Running> running_;
};

}  // namespace batchai::coll

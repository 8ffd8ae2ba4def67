// SPDX-License-Identifier: Apache-2.0
//
// Aborts: the end of a device and its StreamComms while something may still be under way that never
// ends by itself. NCCL aborts at once what is under way in a communicator, but then it waits for
// what else is on the GPU (its issue 1013), as CUDA does where memory is freed: what is under way
// in another communicator, which is to be aborted meanwhile, or what another DeviceCommunicator
// has, which the caller may close next. And it waits for the end of graphs with its operations. So
// each has a thread of its own, which goes on for as long as it takes.
#pragma once

#include <chrono>
#include <memory>

#include "collectives/device/device.hpp"
#include "collectives/device/stream_comm.hpp"

namespace batchai::coll {

class Aborts {
  public:
    // Ends the communicator, if any, and gives up the device, which ends with its last owner. Where
    // there can be no more threads they are left as they are, until the process ends.
    void begin(std::unique_ptr<StreamComm> comm, std::shared_ptr<Device> device);
    // Returns when all have ended, or the time is over.
    void wait(std::chrono::milliseconds limit);

  private:
    struct Running;
    std::shared_ptr<Running> running_;
};

}  // namespace batchai::coll

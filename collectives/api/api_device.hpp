// SPDX-License-Identifier: Apache-2.0
//
// What the C interface's files of GPU memory share.
#pragma once

#include <optional>

#include "collectives/api/api.hpp"
#include "collectives/device/device_comm.hpp"

struct batchai_coll_device {
    std::unique_ptr<batchai::coll::DeviceCommunicator> communicator;
};

namespace batchai::coll::api {

// The extent of this rank's buffers, in elements.
struct DeviceBuffers {
    std::size_t given = 0, got = 0;
    // Where in what is got that may be which is given; none: nowhere.
    std::optional<std::size_t> own = {};
};

// Checks the call, but for what its operation alone knows, finds out whether its stream is
// captured, and starts it.
batchai_coll_status start_on_device(const char* name, batchai_coll_device* device, DeviceCall call,
                                    const DeviceBuffers& buffers,
                                    batchai_coll_device_request** request);

}  // namespace batchai::coll::api

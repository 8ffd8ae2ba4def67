// SPDX-License-Identifier: Apache-2.0
//
// Makes an image file a block device, for file systems that the kernel mounts from one.
#pragma once

#include <string>

#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::spank {

struct LoopDevice {
    std::string path;  // "/dev/loop7"
    sys::UniqueFd
        fd;  // the device is free again when this is closed and nothing is mounted from it
};

// A read-only loop device of an open image. Call as root.
sys::Result<LoopDevice> attach_loop(int image);

}  // namespace batchai::spank

// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/root/loop_device.hpp"

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>

namespace batchai::spank {

sys::Result<LoopDevice> attach_loop(int image) {
    const sys::UniqueFd control(open("/dev/loop-control", O_RDWR | O_CLOEXEC));
    if (!control) return sys::errno_error("/dev/loop-control");
    for (int attempt = 0; attempt < 100; ++attempt) {
        const int number = ioctl(control.get(), LOOP_CTL_GET_FREE);
        if (number < 0) return sys::errno_error("/dev/loop-control");
        LoopDevice device;
        device.path = "/dev/loop" + std::to_string(number);
        device.fd.reset(open(device.path.c_str(), O_RDONLY | O_CLOEXEC));
        if (!device.fd) return sys::errno_error(device.path);
        loop_config config = {};
        config.fd = static_cast<__u32>(image);
        config.info.lo_flags = LO_FLAGS_READ_ONLY | LO_FLAGS_AUTOCLEAR;
        if (ioctl(device.fd.get(), LOOP_CONFIGURE, &config) == 0) return device;
        if (errno != EBUSY) return sys::errno_error(device.path);  // another process took it
    }
    return sys::Error{"no loop device is free"};
}

}  // namespace batchai::spank

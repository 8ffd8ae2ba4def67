// SPDX-License-Identifier: Apache-2.0
//
// ReservedPort: a TCP port that the kernel does not assign to other sockets. It is reserved while
// the socket is open.
#pragma once

#include "sys/unique_fd.hpp"

namespace batchai::launcher {

struct ReservedPort {
    int number = 0;  // 0: none found
    sys::UniqueFd socket;
};
ReservedPort reserve_port();

}  // namespace batchai::launcher

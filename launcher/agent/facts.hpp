// SPDX-License-Identifier: Apache-2.0
//
// The facts about its node that an agent reports to the root.
#pragma once

#include "sys/unique_fd.hpp"

namespace batchai::launcher {

// A TCP port that the kernel does not assign to other sockets. It is reserved while the socket is
// open.
struct ReservedPort {
    int number = 0;  // 0: none found
    sys::UniqueFd socket;
};
ReservedPort reserve_port();

}  // namespace batchai::launcher

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace batchai::sys {

// The time of day in seconds since the epoch, for events and messages between nodes. It may jump:
// measure durations with std::chrono::steady_clock.
inline double wall_clock() {
    using namespace std::chrono;
    return duration<double>(system_clock::now().time_since_epoch()).count();
}

}  // namespace batchai::sys

// SPDX-License-Identifier: Apache-2.0
//
// How the bench takes its times: the median of some calls, after some that do not count, each from
// its start to its end on the host, and the end of the stream. In a brief run
// all is done once.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

#include "../harness.hpp"
#include "../memory.hpp"

namespace batchai::coll::gpu {

// How often an operation on `bytes` is repeated: enough for a median, in bounded time.
inline int calls_of(std::size_t bytes) {
    if (machine().brief) return 1;
    return static_cast<int>(std::clamp<std::size_t>((std::size_t{1} << 30) / bytes, 5, 41));
}

// Before any that counts.
inline int idle_calls() {
    return machine().brief ? 0 : 3;
}

// Between two looks at the clock, of something that is over soon.
inline int together() {
    return machine().brief ? 1 : 20;
}

inline double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

inline double median(std::vector<double> times) {
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                     times.end());
    return times[times.size() / 2];
}

// Seconds of a call, which ends with what it says is done.
template <class Call>
double seconds(std::size_t bytes, Call call) {
    for (int i = 0; i < idle_calls(); ++i) call();
    std::vector<double> times;
    for (int i = 0; i < calls_of(bytes); ++i) {
        const double begin = now();
        call();
        times.push_back(now() - begin);
    }
    return median(std::move(times));
}

}  // namespace batchai::coll::gpu

// SPDX-License-Identifier: Apache-2.0
//
// Memory that this process holds: its own, and of what it shares with other processes its part. Not
// code, nor what else is in files. Read from the kernel, between measurements.
#pragma once

#include <cstddef>
#include <cstdio>

namespace batchai::bench {

// KiB; 0 where the kernel does not say (before Linux 5.4).
inline std::size_t held_kib() {
    std::FILE* file = std::fopen("/proc/self/smaps_rollup", "re");
    if (file == nullptr) return 0;
    std::size_t sum = 0, kib = 0;
    for (char line[256]; std::fgets(line, sizeof line, file) != nullptr;) {
        if (std::sscanf(line, "Pss_Anon: %zu", &kib) == 1 ||
            std::sscanf(line, "Pss_Shmem: %zu", &kib) == 1) {
            sum += kib;
        }
    }
    std::fclose(file);
    return sum;
}

}  // namespace batchai::bench

// SPDX-License-Identifier: Apache-2.0
//
// Memory that this process holds: its own, and of what it shares with other processes its part. Not
// code, nor what else is in files. Read from the kernel, between measurements.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <vector>

namespace batchai::bench {

// A mapping of /proc/self/smaps.
struct Mapping {
    std::uintptr_t begin = 0, end = 0;
    bool is_shared = false;
    std::size_t pss_kib = 0;
};

inline std::vector<Mapping> mappings() {
    std::vector<Mapping> all;
    std::FILE* file = std::fopen("/proc/self/smaps", "re");
    if (file == nullptr) return all;
    for (char line[4400]; std::fgets(line, sizeof line, file) != nullptr;) {
        std::size_t begin = 0, end = 0, kib = 0;
        char rights[5] = {};
        if (std::sscanf(line, "%zx-%zx %4s", &begin, &end, rights) == 3)
            all.push_back({begin, end, rights[3] == 's', 0});
        else if (!all.empty() && std::sscanf(line, "Pss: %zu", &kib) == 1)
            all.back().pss_kib = kib;
    }
    std::fclose(file);
    return all;
}

// KiB in the buffers that are shared, and in those of the other ranks: shared mappings of the same
// length. A rank that reads another one's buffer in place maps it, and the kernel counts a part of
// it there.
inline std::size_t in_shared_buffers_kib(std::initializer_list<const void*> buffers) {
    const std::vector<Mapping> all = mappings();
    std::size_t sum = 0;
    for (const Mapping& mapping : all) {
        const auto is_as_long = [&](const Mapping& other) {
            return other.is_shared && other.end - other.begin == mapping.end - mapping.begin &&
                   std::any_of(buffers.begin(), buffers.end(), [&](const void* buffer) {
                       const auto address = reinterpret_cast<std::uintptr_t>(buffer);
                       return other.begin <= address && address < other.end;
                   });
        };
        if (mapping.is_shared && std::any_of(all.begin(), all.end(), is_as_long))
            sum += mapping.pss_kib;
    }
    return sum;
}

// KiB, without shared buffers of the program; 0 where the kernel does not say (before Linux 5.4).
inline std::size_t held_kib(std::initializer_list<const void*> buffers = {}) {
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
    return sum - std::min(sum, in_shared_buffers_kib(buffers));
}

}  // namespace batchai::bench

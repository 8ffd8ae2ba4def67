// SPDX-License-Identifier: Apache-2.0
#include <batchai/collectives.h>

#include <cstdio>

#include "harness.hpp"
#include "memory.hpp"

namespace batchai::coll::gpu {

std::string look_for_gpus() {
    const std::string found = "found ";
    Processes process({1});
    const auto ends = process.run([&](int, Board&) -> std::string {
        int gpus = 0;
        cuda(cudaGetDeviceCount(&gpus), "CUDA");
        std::printf("GPU support: %s\n", batchai_coll_gpu_support());
        std::fflush(stdout);  // what follows is no usual end
        return found + std::to_string(gpus);
    });
    if (ends[0].rfind(found, 0) != 0) return ends[0];
    machine().gpus = std::stoi(ends[0].substr(found.size()));
    return machine().gpus > 0 ? "" : "CUDA finds none";
}

}  // namespace batchai::coll::gpu

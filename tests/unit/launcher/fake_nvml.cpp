// SPDX-License-Identifier: Apache-2.0
//
// The calls of NVIDIA's management library that launcher/agent/gpu_load.cpp makes, for two GPUs. A
// third one answers nothing, as a broken GPU.
#include <cstring>

namespace {

struct Gpu {
    const char* address;
    unsigned int busy;
    unsigned long long used;
};
const Gpu kGpus[] = {{"0000:07:00.0", 87, 3ULL << 30}, {"0000:81:00.0", 0, 1ULL << 20}};
constexpr int kNotFound = 6;

}  // namespace

extern "C" {

int nvmlInit_v2() {
    return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, const void** device) {
    for (const Gpu& gpu : kGpus) {
        if (std::strcmp(gpu.address, address) != 0) continue;
        *device = &gpu;
        return 0;
    }
    return kNotFound;
}
int nvmlDeviceGetUtilizationRates(const void* device, unsigned int* percent) {
    percent[0] = static_cast<const Gpu*>(device)->busy;
    percent[1] = 1;
    return 0;
}
int nvmlDeviceGetMemoryInfo(const void* device, unsigned long long* bytes) {
    bytes[0] = 8ULL << 30;
    bytes[2] = static_cast<const Gpu*>(device)->used;
    bytes[1] = bytes[0] - bytes[2];
    return 0;
}
}

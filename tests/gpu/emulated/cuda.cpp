// SPDX-License-Identifier: Apache-2.0
//
// CUDA's driver, and of its runtime: devices, memory, errors. Memory is a file without a name,
// which other processes open by this one's descriptor.
#include <cuda.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "emulation.hpp"

namespace {

enum class Kind { device, pinned, opened };
struct Memory {
    std::size_t bytes;
    Kind kind;
    int gpu, file;
};

struct Handle {
    int process, file, gpu;
    std::size_t bytes;
};
static_assert(sizeof(Handle) <= sizeof(cudaIpcMemHandle_t));

std::mutex lock;
std::map<std::uintptr_t, Memory> memories;
thread_local std::vector<int> contexts;  // GPUs; the last one is current
thread_local int chosen = 0;             // by cudaSetDevice
thread_local cudaError_t last_error = cudaSuccess;
thread_local CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

std::uintptr_t number(const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
}

const Memory* find(const void* pointer) {
    auto next = memories.upper_bound(number(pointer));
    if (next == memories.begin()) return nullptr;
    const auto& [begin, memory] = *--next;
    return number(pointer) - begin < memory.bytes ? &memory : nullptr;
}

void* map_file(int file, std::size_t bytes, Kind kind, int gpu) {
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) return nullptr;
    const std::scoped_lock held(lock);
    memories[number(memory)] = {bytes, kind, gpu, file};
    return memory;
}

cudaError_t allocate(void** memory, std::size_t bytes, Kind kind) {
    bytes = std::max<std::size_t>(bytes, 1);
    const int file = ::memfd_create("GPU", MFD_CLOEXEC);
    if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes)) != 0 ||
        (*memory = map_file(file, bytes, kind, emulation::current_gpu())) == nullptr) {
        return emulation::fail(cudaErrorMemoryAllocation);
    }
    std::memset(*memory, 0xa5, bytes);
    return cudaSuccess;
}

cudaError_t release(void* memory, Kind kind) {
    if (memory == nullptr) return cudaSuccess;
    emulation::wait_for_all_streams();
    const std::scoped_lock held(lock);
    const auto found = memories.find(number(memory));
    if (found == memories.end() || found->second.kind != kind) {
        return emulation::fail(cudaErrorInvalidValue);
    }
    ::munmap(memory, found->second.bytes);
    ::close(found->second.file);
    memories.erase(found);
    return cudaSuccess;
}

}  // namespace

namespace emulation {

int gpus() {
    const char* set = std::getenv("BATCHAI_EMULATED_GPUS");
    return set == nullptr ? 1 : std::atoi(set);
}

int current_gpu() {
    return contexts.empty() ? chosen : contexts.back();
}

cudaError_t fail(cudaError_t status) {
    if (status != cudaSuccess) last_error = status;
    return status;
}

bool is_reachable(const void* memory) {
    const std::scoped_lock held(lock);
    return find(memory) != nullptr;
}

}  // namespace emulation

extern "C" {

// The driver. A context is the number of its GPU, and one.
CUresult cuInit(unsigned int) {
    return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** sentence) {
    *sentence = "an error of the emulated driver";
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
    *count = emulation::gpus();
    return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    *device = ordinal;
    return ordinal < emulation::gpus() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    *context = reinterpret_cast<CUcontext>(static_cast<std::uintptr_t>(device) + 1);
    return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice) {
    return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent(CUcontext context) {
    contexts.push_back(static_cast<int>(number(context)) - 1);
    return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent(CUcontext* context) {
    if (contexts.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    *context = reinterpret_cast<CUcontext>(static_cast<std::uintptr_t>(contexts.back()) + 1);
    contexts.pop_back();
    return CUDA_SUCCESS;
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
    std::swap(*mode, capture_mode);
    return CUDA_SUCCESS;
}

// The runtime.
cudaError_t cudaGetDeviceCount(int* count) {
    *count = emulation::gpus();
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
    if (device < 0 || device >= emulation::gpus()) return emulation::fail(cudaErrorInvalidDevice);
    chosen = device;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
    *device = emulation::current_gpu();
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    *properties = {};
    std::snprintf(properties->name, sizeof properties->name, "emulated GPU");
    std::snprintf(properties->uuid.bytes, sizeof properties->uuid.bytes, "emulated %d", device);
    properties->multiProcessorCount = 4;
    properties->maxThreadsPerMultiProcessor = 1024;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
    switch (attribute) {
        case cudaDevAttrMultiProcessorCount:
            *value = 4;
            return cudaSuccess;
        case cudaDevAttrMaxThreadsPerMultiProcessor:
            *value = 1024;
            return cudaSuccess;
        default:
            return emulation::fail(cudaErrorInvalidValue);
    }
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
    *attributes = {};
    return cudaSuccess;
}

cudaError_t cudaGetLastError() {
    return std::exchange(last_error, cudaSuccess);
}
const char* cudaGetErrorName(cudaError_t status) {
    return status == cudaErrorNotReady ? "cudaErrorNotReady" : "cudaErrorOfEmulation";
}
const char* cudaGetErrorString(cudaError_t status) {
    static thread_local char text[64];
    std::snprintf(text, sizeof text, "error %d of the emulated GPU", static_cast<int>(status));
    return text;
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
    return allocate(memory, bytes, Kind::device);
}
cudaError_t cudaFree(void* memory) {
    return release(memory, Kind::device);
}
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned int) {
    return allocate(memory, bytes, Kind::pinned);
}
cudaError_t cudaFreeHost(void* memory) {
    return release(memory, Kind::pinned);
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
    const std::scoped_lock held(lock);
    const Memory* memory = find(pointer);
    *attributes = {};
    attributes->type = memory == nullptr              ? cudaMemoryTypeUnregistered
                       : memory->kind == Kind::pinned ? cudaMemoryTypeHost
                                                      : cudaMemoryTypeDevice;
    attributes->device = memory == nullptr ? -2 : memory->gpu;
    return cudaSuccess;
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
    const std::scoped_lock held(lock);
    const auto found = memories.find(number(pointer));
    if (found == memories.end() || found->second.kind != Kind::device) {
        return emulation::fail(cudaErrorInvalidValue);
    }
    const Memory& memory = found->second;
    const Handle made{::getpid(), memory.file, memory.gpu, memory.bytes};
    std::memcpy(handle, &made, sizeof made);
    return cudaSuccess;
}
cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned int flags) {
    Handle wanted;
    std::memcpy(&wanted, &handle, sizeof wanted);
    // As CUDA does with a process's own.
    if (wanted.process == ::getpid()) return emulation::fail(cudaErrorDeviceUninitialized);
    if (flags != cudaIpcMemLazyEnablePeerAccess) return emulation::fail(cudaErrorInvalidValue);
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/fd/%d", wanted.process, wanted.file);
    const int file = ::open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return emulation::fail(cudaErrorInvalidResourceHandle);
    *pointer = map_file(file, wanted.bytes, Kind::opened, wanted.gpu);
    return *pointer == nullptr ? emulation::fail(cudaErrorMapBufferObjectFailed) : cudaSuccess;
}
cudaError_t cudaIpcCloseMemHandle(void* pointer) {
    return release(pointer, Kind::opened);
}

}  // extern "C"

// SPDX-License-Identifier: Apache-2.0
#include "collectives/device/cuda.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "collectives/device/kernels.hpp"

namespace batchai::coll {

static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(Device::Handle));

namespace {

constexpr std::size_t kGpuPage = 2u << 20;

cudaStream_t cuda(Device::Stream stream) {
    return reinterpret_cast<cudaStream_t>(stream);
}

cudaEvent_t cuda(Device::Event event) {
    return reinterpret_cast<cudaEvent_t>(event);
}

// Clears an error that the device survives, so that no later call reports it.
sys::Error error_of(cudaError_t status, const std::string& what) {
    (void)cudaGetLastError();
    return sys::Error{
        fmt::format("{}: {} ({})", what, cudaGetErrorString(status), cudaGetErrorName(status))};
}

sys::Result<void> checked(cudaError_t status, const char* what) {
    if (status == cudaSuccess) return {};
    return error_of(status, what);
}

}  // namespace

std::string CudaDevice::version() {
    return fmt::format("{}.{}", CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
}

sys::Result<std::shared_ptr<Device>> CudaDevice::create(int number) {
    auto context = CudaContext::open(number);
    if (!context) return context.error();
    const CurrentContext current(*context);
    // The runtime initialises the device in the first call that needs it, which takes long.
    cudaError_t status = cudaFree(nullptr);
    int device = -1;
    if (status == cudaSuccess) status = cudaGetDevice(&device);
    if (status != cudaSuccess) return error_of(status, fmt::format("opening GPU {}", number));
    if (device != number) {
        return sys::Error{fmt::format("asked CUDA for GPU {}, got GPU {}", number, device)};
    }
    status = load_reductions();
    if (status == cudaSuccess) status = load_copies();
    if (status != cudaSuccess) return error_of(status, fmt::format("using GPU {}", number));
    cudaDeviceProp properties;
    status = cudaGetDeviceProperties(&properties, number);
    if (status != cudaSuccess) return error_of(status, fmt::format("asking GPU {}", number));
    const int blocks = properties.multiProcessorCount *
                       std::max(properties.maxThreadsPerMultiProcessor / kReductionThreads, 1);
    return std::shared_ptr<Device>(new CudaDevice(
        number, std::move(*context), fmt::format("{} (GPU {})", properties.name, number),
        std::string(properties.uuid.bytes, sizeof properties.uuid.bytes), blocks));
}

// The destructor ignores errors: there is no caller to report them to.
CudaDevice::~CudaDevice() {
    close();
    const CurrentContext current(context_);
    for (Event event : events_) (void)cudaEventDestroy(cuda(event));
    for (Stream stream : streams_) (void)cudaStreamDestroy(cuda(stream));
    for (std::byte* memory : pinned_) (void)cudaFreeHost(memory);
    for (std::byte* memory : memory_) (void)cudaFree(memory);
    (void)cudaGetLastError();
}

void CudaDevice::close() {
    const CurrentContext current(context_);
    for (Stream stream : streams_) (void)cudaStreamSynchronize(cuda(stream));
    for (std::byte* memory : opened_) (void)cudaIpcCloseMemHandle(memory);
    opened_.clear();
    (void)cudaGetLastError();
}

sys::Result<std::byte*> CudaDevice::allocate(std::size_t bytes) {
    const CurrentContext current(context_);
    // CUDA shares whole pages, with all other memory in them.
    const std::size_t pages = std::max<std::size_t>((bytes + kGpuPage - 1) / kGpuPage, 1);
    void* memory = nullptr;
    const cudaError_t status = cudaMalloc(&memory, pages * kGpuPage);
    if (status != cudaSuccess) {
        return error_of(status, fmt::format("allocating {} bytes on {}", bytes, name_));
    }
    memory_.push_back(static_cast<std::byte*>(memory));
    return memory_.back();
}

sys::Result<std::byte*> CudaDevice::allocate_pinned(std::size_t bytes) {
    const CurrentContext current(context_);
    void* memory = nullptr;
    const cudaError_t status =
        cudaHostAlloc(&memory, std::max<std::size_t>(bytes, 1), cudaHostAllocPortable);
    if (status != cudaSuccess) {
        return error_of(status, fmt::format("allocating {} bytes of pinned memory", bytes));
    }
    pinned_.push_back(static_cast<std::byte*>(memory));
    return pinned_.back();
}

sys::Result<Device::Stream> CudaDevice::make_stream() {
    const CurrentContext current(context_);
    cudaStream_t stream = nullptr;
    const cudaError_t status = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (status != cudaSuccess) return error_of(status, "making a stream on " + name_);
    streams_.push_back(reinterpret_cast<Stream>(stream));
    return streams_.back();
}

sys::Result<Device::Event> CudaDevice::make_event() {
    const CurrentContext current(context_);
    cudaEvent_t event = nullptr;
    const cudaError_t status = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    if (status != cudaSuccess) return error_of(status, "making an event on " + name_);
    const std::scoped_lock held(events_lock_);
    events_.push_back(reinterpret_cast<Event>(event));
    return events_.back();
}

sys::Result<Device::Handle> CudaDevice::share(const std::byte* memory) {
    if (std::find(memory_.begin(), memory_.end(), memory) == memory_.end()) {
        return sys::Error{"sharing memory that allocate() has not returned"};
    }
    const CurrentContext current(context_);
    cudaIpcMemHandle_t there;
    const cudaError_t status = cudaIpcGetMemHandle(&there, const_cast<std::byte*>(memory));
    if (status != cudaSuccess) return error_of(status, "sharing memory of " + name_);
    Handle handle;
    std::memcpy(&handle, &there, sizeof handle);
    return handle;
}

sys::Result<std::byte*> CudaDevice::open(const Handle& handle) {
    const CurrentContext current(context_);
    cudaIpcMemHandle_t there;
    std::memcpy(&there, &handle, sizeof there);
    void* memory = nullptr;
    const cudaError_t status = cudaIpcOpenMemHandle(&memory, there, cudaIpcMemLazyEnablePeerAccess);
    if (status != cudaSuccess) return error_of(status, "opening another rank's memory on " + name_);
    opened_.push_back(static_cast<std::byte*>(memory));
    return opened_.back();
}

sys::Result<void> CudaDevice::copy(std::byte* to, const std::byte* from, std::size_t bytes,
                                   Stream stream) {
    if (bytes == 0) return {};
    const CurrentContext current(context_);
    return checked(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, cuda(stream)),
                   "copying on a GPU");
}

sys::Result<void> CudaDevice::copy_all(const Copies& copies, Stream stream) {
    const CurrentContext current(context_);
    return checked(launch_copies(copies, cuda(stream)), "copying on a GPU");
}

sys::Result<void> CudaDevice::reduce(const Reduction& reduction, Stream stream) {
    if (auto good = check(reduction); !good) return good;
    const CurrentContext current(context_);
    return checked(launch_reduction(reduction, blocks_, cuda(stream)), "reducing on a GPU");
}

sys::Result<void> CudaDevice::record(Event event, Stream stream) {
    const CurrentContext current(context_);
    return checked(cudaEventRecord(cuda(event), cuda(stream)), "recording an event");
}

sys::Result<void> CudaDevice::wait(Stream stream, Event event) {
    const CurrentContext current(context_);
    return checked(cudaStreamWaitEvent(cuda(stream), cuda(event), 0), "waiting for an event");
}

sys::Result<bool> CudaDevice::query(Event event) {
    const CurrentContext current(context_);
    const cudaError_t status = cudaEventQuery(cuda(event));
    if (status == cudaSuccess) return true;
    if (status == cudaErrorNotReady) {
        (void)cudaGetLastError();  // not ready is not an error
        return false;
    }
    return error_of(status, "running the orders on " + name_);
}

sys::Result<bool> CudaDevice::is_captured(Stream stream) {
    const CurrentContext current(context_);
    cudaStreamCaptureStatus captured = cudaStreamCaptureStatusNone;
    const cudaError_t status = cudaStreamIsCapturing(cuda(stream), &captured);
    if (status != cudaSuccess) return error_of(status, "asking for a stream's state");
    if (captured == cudaStreamCaptureStatusInvalidated) {
        return sys::Error{"the stream's capture has failed: end it first"};
    }
    return captured != cudaStreamCaptureStatusNone;
}

bool CudaDevice::holds(const void* memory) const {
    const CurrentContext current(context_);
    cudaPointerAttributes attributes;
    if (cudaPointerGetAttributes(&attributes, memory) != cudaSuccess) {
        (void)cudaGetLastError();
        return false;
    }
    return attributes.device == number_ &&
           (attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged);
}

}  // namespace batchai::coll

// SPDX-License-Identifier: Apache-2.0
#include "collectives/device/context.hpp"

#include <cuda.h>
#include <fmt/format.h>

#include "collectives/device/library.hpp"

namespace batchai::coll {

namespace {

struct Driver {
    static sys::Result<Driver> load();

    decltype(&::cuInit) init;
    decltype(&::cuGetErrorString) error_string;
    decltype(&::cuDeviceGetCount) count;
    decltype(&::cuDeviceGet) device;
    decltype(&::cuDevicePrimaryCtxRetain) retain;
    decltype(&::cuDevicePrimaryCtxRelease) release;
    decltype(&::cuCtxPushCurrent) push;
    decltype(&::cuCtxPopCurrent) pop;
    decltype(&::cuThreadExchangeStreamCaptureMode) exchange_mode;
};

// The function names are those of the interface versions that cuda.h declares. CUDA keeps older
// versions too.
sys::Result<Driver> Driver::load() {
    const auto library = Library::open("libcuda.so.1");
    if (!library) return library.error().in("CUDA's driver");
    Driver driver{};
    for (const auto& found :
         {library->find("cuInit", driver.init),
          library->find("cuGetErrorString", driver.error_string),
          library->find("cuDeviceGetCount", driver.count),
          library->find("cuDeviceGet", driver.device),
          library->find("cuDevicePrimaryCtxRetain", driver.retain),
          library->find("cuDevicePrimaryCtxRelease_v2", driver.release),
          library->find("cuCtxPushCurrent_v2", driver.push),
          library->find("cuCtxPopCurrent_v2", driver.pop),
          library->find("cuThreadExchangeStreamCaptureMode", driver.exchange_mode)}) {
        if (!found) return found.error().in("CUDA's driver");
    }
    return driver;
}

// Never destroyed: threads may abort communicators until the process ends.
const sys::Result<Driver>& driver() {
    static const auto* const loaded = new sys::Result<Driver>(Driver::load());
    return *loaded;
}

sys::Error error_of(CUresult status, const std::string& what) {
    const char* sentence = nullptr;
    if (driver()->error_string(status, &sentence) != CUDA_SUCCESS || sentence == nullptr) {
        sentence = "unknown error";
    }
    return sys::Error{
        fmt::format("{}: {} (CUDA's driver, error {})", what, sentence, static_cast<int>(status))};
}

}  // namespace

sys::Result<int> CudaContext::count() {
    if (!driver()) return driver().error();
    CUresult status = driver()->init(0);
    int devices = 0;
    if (status == CUDA_SUCCESS) status = driver()->count(&devices);
    if (status != CUDA_SUCCESS) return error_of(status, "looking for GPUs");
    return devices;
}

sys::Result<CudaContext> CudaContext::open(int number) {
    const auto devices = count();
    if (!devices) return devices.error();
    if (number < 0 || number >= *devices) {
        return sys::Error{
            fmt::format("there is no GPU {}: this process sees {}", number, *devices)};
    }
    CUdevice device = 0;
    CUcontext context = nullptr;
    CUresult status = driver()->device(&device, number);
    if (status == CUDA_SUCCESS) status = driver()->retain(&context, device);
    if (status != CUDA_SUCCESS) return error_of(status, fmt::format("opening GPU {}", number));
    return CudaContext(device, context);
}

CudaContext::~CudaContext() {
    if (context_ != nullptr) (void)driver()->release(device_);
}

// If the context cannot be pushed, later calls fail and report the error.
CurrentContext::CurrentContext(const CudaContext& context)
    : pushed_(driver()->push(context.context_) == CUDA_SUCCESS),
      capture_mode_(CU_STREAM_CAPTURE_MODE_RELAXED) {
    exchange_capture_mode();
}

CurrentContext::~CurrentContext() {
    CUcontext popped = nullptr;
    if (pushed_) (void)driver()->pop(&popped);
    exchange_capture_mode();
}

void CurrentContext::exchange_capture_mode() {
    auto mode = static_cast<CUstreamCaptureMode>(capture_mode_);
    if (driver()->exchange_mode(&mode) == CUDA_SUCCESS) capture_mode_ = mode;
}

}  // namespace batchai::coll

// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/gpu_load.hpp"

#include <dlfcn.h>

#include <utility>

namespace batchai::launcher {
namespace {

// The part of NVML that is used here. Source: NVIDIA's NVML API Reference Guide.
struct Utilization {
    unsigned int gpu = 0, memory = 0;  // percent
};
struct Memory {
    unsigned long long total = 0, free = 0, used = 0;  // bytes
};
using Device = struct nvmlDevice_st*;
constexpr int kSuccess = 0;

class Nvml {
  public:
    // Loads the library. It stays loaded: a thread may be in it until the process ends.
    Nvml() {
        void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) return;
        find(library, "nvmlInit_v2", init_);
        find(library, "nvmlDeviceGetHandleByPciBusId_v2", by_address_);
        find(library, "nvmlDeviceGetUtilizationRates", utilization_);
        find(library, "nvmlDeviceGetMemoryInfo", memory_);
        usable_ = init_ != nullptr && by_address_ != nullptr && utilization_ != nullptr &&
                  memory_ != nullptr && init_() == kSuccess;
    }
    // False: the GPU does not say, as a part of a GPU (MIG) does not.
    bool read(const std::string& address, GpuSample& sample) const {
        Device device = nullptr;
        Utilization utilization;
        Memory memory;
        if (!usable_ || by_address_(address.c_str(), &device) != kSuccess ||
            utilization_(device, &utilization) != kSuccess ||
            memory_(device, &memory) != kSuccess) {
            return false;
        }
        sample.busy = static_cast<int>(utilization.gpu);
        sample.memory = static_cast<double>(memory.used);
        sample.limit = static_cast<double>(memory.total);
        return true;
    }

  private:
    template <class Function>
    static void find(void* library, const char* name, Function& function) {
        function = reinterpret_cast<Function>(::dlsym(library, name));
    }

    int (*init_)() = nullptr;
    int (*by_address_)(const char*, Device*) = nullptr;
    int (*utilization_)(Device, Utilization*) = nullptr;
    int (*memory_)(Device, Memory*) = nullptr;
    bool usable_ = false;
};

}  // namespace

// The thread has a reference to it, also when the agent has ended.
struct GpuLoad::Request {
    uv_work_t work{};
    std::shared_ptr<Request> own;  // while the thread runs
    std::vector<std::string> addresses;
    std::vector<GpuSample> found, known;  // of the thread; of the loop
};

std::vector<GpuSample> GpuLoad::read() {
    if (request_ == nullptr) {
        request_ = std::make_shared<Request>();
        const auto count = count_gpus(environment_, driver_);
        if (count) request_->addresses = gpu_addresses(environment_, *count, driver_);
    }
    if (request_->addresses.empty() || request_->own != nullptr) return request_->known;
    request_->own = request_;
    request_->work.data = request_.get();
    const auto ask = [](uv_work_t* work) {
        static const Nvml nvml;
        auto& request = *static_cast<Request*>(work->data);
        request.found.clear();
        for (std::size_t gpu = 0; gpu < request.addresses.size(); ++gpu) {
            GpuSample sample;
            sample.gpu = static_cast<int>(gpu);
            if (nvml.read(request.addresses[gpu], sample)) request.found.push_back(sample);
        }
    };
    const auto take = [](uv_work_t* work, int) {
        const auto request = std::exchange(static_cast<Request*>(work->data)->own, nullptr);
        request->known = request->found;
    };
    if (uv_queue_work(loop_.get(), &request_->work, ask, take) != 0) request_->own = nullptr;
    return request_->known;
}

}  // namespace batchai::launcher

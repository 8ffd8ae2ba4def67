// SPDX-License-Identifier: Apache-2.0
//
// The GPUs of the C interface: what the library supports, and how a queue opens one. A library that
// was built without CUDA has these functions too; they say so.
#include <fmt/format.h>

#include "collectives/api/api.hpp"
#ifdef BATCHAI_HAS_GPU
#include "collectives/device/cuda.hpp"
#include "collectives/device/nccl.hpp"
#endif

using namespace batchai::coll;
using namespace batchai::coll::api;

#ifdef BATCHAI_HAS_GPU
batchai::sys::Result<Gpu> api::open_gpu(int number, int local_rank) {
    if (number < 0) {
        const auto count = CudaContext::count();
        if (!count) return count.error();
        if (*count == 0) return batchai::sys::Error{"there is no GPU"};
        number = local_rank % *count;
    }
    const auto device = CudaDevice::create(number);
    if (!device) return device.error();
    return Gpu{*device, std::make_shared<NcclComms>(number)};
}
#else
constexpr const char* kNone = "this library was built without CUDA";

batchai::sys::Result<Gpu> api::open_gpu(int, int) {
    return batchai::sys::Error{kNone};
}
#endif

namespace {

thread_local std::string last_support;  // the answer to this thread's last query

#ifdef BATCHAI_HAS_GPU
std::string support() {
    const auto count = CudaContext::count();
    if (!count) return "off (" + count.error().message + ")";
    if (*count == 0) return "off (there is no GPU)";
    const auto nccl = nccl_version();
    return fmt::format("CUDA {}, {}", CudaDevice::version(),
                       nccl ? "NCCL " + *nccl : nccl.error().message);
}
#else
std::string support() {
    return fmt::format("off ({})", kNone);
}
#endif

}  // namespace

extern "C" {

const char* batchai_coll_gpu_support(void) {
    (void)guarded([] {
        last_support = support();
        return BATCHAI_COLL_OK;
    });
    return last_support.c_str();
}

}  // extern "C"

// SPDX-License-Identifier: Apache-2.0
//
// The library's kernels, as they stand in its .cu files, and those of the tests.
#include "emulation.hpp"

// What only CUDA's compiler knows.
#undef __grid_constant__
#define __grid_constant__
#undef __launch_bounds__
#define __launch_bounds__(...)
#define gridDim emulation::grid_dim
#define blockDim emulation::block_dim
#define blockIdx emulation::block_index
#define threadIdx emulation::thread_index
#include "collectives/device/copies.cu"
#include "collectives/device/kernels.cu"
#undef gridDim
#undef blockDim
#undef blockIdx
#undef threadIdx

#include "tests/gpu/work.hpp"

namespace batchai::coll {
namespace {

const struct Registered {
    Registered() {
        emulation::add_kernel(&copy_all);
        for_all_kernels([](Kernel kernel) { emulation::add_kernel(kernel); });
    }
} registered;

}  // namespace

namespace gpu {

cudaError_t burn(long long multiplications, int, cudaStream_t stream) {
    emulation::enqueue(stream, [=] {
        volatile float value = 1;
        for (long long i = 0; i < multiplications / 10; ++i) value = value * 0.999f + 0.5f;
    });
    return cudaSuccess;
}

cudaError_t fill(float* to, std::size_t count, float value, cudaStream_t stream) {
    emulation::enqueue(stream, [=] { std::fill_n(to, count, value); });
    return cudaSuccess;
}

cudaError_t add(float* to, std::size_t count, float value, cudaStream_t stream) {
    emulation::enqueue(stream, [=] {
        for (std::size_t i = 0; i < count; ++i) to[i] += value;
    });
    return cudaSuccess;
}

}  // namespace gpu
}  // namespace batchai::coll

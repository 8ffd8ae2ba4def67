// SPDX-License-Identifier: Apache-2.0
#include "work.hpp"

namespace batchai::coll::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 256;

__device__ float sink;

__global__ void burn_on_device(long long multiplications) {
    float value = 1.0f + threadIdx.x;
    for (long long i = 0; i < multiplications; ++i) value = value * 0.999f + 0.5f;
    if (value < 0) sink = value;  // never, which the compiler does not know
}

__global__ void fill_on_device(float* to, std::size_t count, float value) {
    const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
         i += stride) {
        to[i] = value;
    }
}

__global__ void add_on_device(float* to, std::size_t count, float value) {
    const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
         i += stride) {
        to[i] += value;
    }
}

}  // namespace

cudaError_t burn(long long multiplications, int blocks, cudaStream_t stream) {
    burn_on_device<<<blocks, kThreads, 0, stream>>>(multiplications);
    return cudaGetLastError();
}

cudaError_t fill(float* to, std::size_t count, float value, cudaStream_t stream) {
    fill_on_device<<<kBlocks, kThreads, 0, stream>>>(to, count, value);
    return cudaGetLastError();
}

cudaError_t add(float* to, std::size_t count, float value, cudaStream_t stream) {
    add_on_device<<<kBlocks, kThreads, 0, stream>>>(to, count, value);
    return cudaGetLastError();
}

}  // namespace batchai::coll::gpu

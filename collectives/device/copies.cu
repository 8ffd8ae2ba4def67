// SPDX-License-Identifier: Apache-2.0
//
// Many copies in one kernel, as a launch for each would take longer than small ones do. A row of
// blocks strides over each copy, in the largest words that its pointers allow.
#include <algorithm>
#include <cstdint>

#include "collectives/device/kernels.hpp"

namespace batchai::coll {
namespace {

// What the copies are to a kernel.
struct Copies {
    const std::byte* from[Device::Copies::kMost];
    std::byte* to[Device::Copies::kMost];
    std::size_t bytes[Device::Copies::kMost];
};
static_assert(sizeof(Copies) < 4096, "a kernel takes no more arguments");

template <class Word>
__device__ void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
    const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    const std::size_t begin = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    const std::size_t words = bytes / sizeof(Word);
#pragma unroll 4
    for (std::size_t at = begin; at < words; at += stride) {
        reinterpret_cast<Word*>(to)[at] = reinterpret_cast<const Word*>(from)[at];
    }
    for (std::size_t at = words * sizeof(Word) + begin; at < bytes; at += stride) to[at] = from[at];
}

__global__ void __launch_bounds__(kReductionThreads)
    copy_all(const __grid_constant__ Copies copies) {
    std::byte* to = copies.to[blockIdx.y];
    const std::byte* from = copies.from[blockIdx.y];
    const std::size_t bytes = copies.bytes[blockIdx.y];
    const auto places =
        reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from);
    if (places % sizeof(uint4) == 0) {
        copy<uint4>(to, from, bytes);
    } else if (places % sizeof(std::uint32_t) == 0) {
        copy<std::uint32_t>(to, from, bytes);
    } else if (places % sizeof(std::uint16_t) == 0) {
        copy<std::uint16_t>(to, from, bytes);
    } else {
        copy<std::byte>(to, from, bytes);
    }
}

}  // namespace

cudaError_t load_copies() {
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(copy_all));
}

cudaError_t launch_copies(const Device::Copies& copies, int blocks, cudaStream_t stream) {
    if (copies.count == 0) return cudaSuccess;
    constexpr std::size_t kLeastRow = 16;  // blocks, where there is work for them
    constexpr std::size_t kBlock = 4 * sizeof(uint4) * kReductionThreads;  // bytes worth one
    Copies work;
    std::copy_n(copies.from.begin(), copies.count, work.from);
    std::copy_n(copies.to.begin(), copies.count, work.to);
    std::copy_n(copies.bytes.begin(), copies.count, work.bytes);
    const std::size_t longest =
        *std::max_element(copies.bytes.begin(), copies.bytes.begin() + copies.count);
    const std::size_t most =
        std::max(2 * static_cast<std::size_t>(blocks) / copies.count, kLeastRow);
    const std::size_t row = std::clamp((longest + kBlock - 1) / kBlock, std::size_t{1}, most);
    void* arguments[] = {&work};
    return cudaLaunchKernel(reinterpret_cast<const void*>(copy_all),
                            dim3(static_cast<unsigned>(row), static_cast<unsigned>(copies.count)),
                            dim3(kReductionThreads), arguments, 0, stream);
}

}  // namespace batchai::coll

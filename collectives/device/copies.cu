// SPDX-License-Identifier: Apache-2.0
//
// Many copies in one kernel, because a launch for each would take longer than a small copy. All are
// cut into chunks. A block copies a chunk, in the largest words that the pointers allow. So a long
// copy keeps as many blocks busy as it needs, whatever the other copies are.
#include <cstdint>

#include "collectives/device/kernels.hpp"

namespace batchai::coll {
namespace {

// Bytes of a chunk: four of the largest words for each thread.
constexpr std::size_t kChunk = 4 * sizeof(uint4) * kReductionThreads;

// The copies as the kernel's argument.
struct Copies {
    const std::byte* from[Device::Copies::kMost];
    std::byte* to[Device::Copies::kMost];
    std::size_t bytes[Device::Copies::kMost];
    unsigned first[Device::Copies::kMost];  // of its blocks, which none has that has no bytes
    unsigned count;
};
static_assert(sizeof(Copies) < 4096, "a kernel takes no more arguments");

// The last copy whose first block is not after this one.
__device__ unsigned copy_of(const Copies& copies, unsigned block) {
    unsigned low = 0, high = copies.count - 1;
    while (low < high) {
        const unsigned middle = (low + high + 1) / 2;
        if (copies.first[middle] <= block) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

template <class Word>
__device__ void copy(std::byte* __restrict__ to, const std::byte* __restrict__ from,
                     std::size_t bytes) {
    const std::size_t words = bytes / sizeof(Word);
#pragma unroll 4
    for (std::size_t at = threadIdx.x; at < words; at += kReductionThreads) {
        reinterpret_cast<Word*>(to)[at] = reinterpret_cast<const Word*>(from)[at];
    }
    const std::size_t rest = words * sizeof(Word) + threadIdx.x;
    if (rest < bytes) to[rest] = from[rest];
}

__global__ void __launch_bounds__(kReductionThreads)
    copy_all(const __grid_constant__ Copies copies) {
    const unsigned which = copy_of(copies, blockIdx.x);
    const std::size_t begin = (blockIdx.x - copies.first[which]) * kChunk;
    const std::size_t left = copies.bytes[which] - begin;
    const std::size_t bytes = left < kChunk ? left : kChunk;
    std::byte* to = copies.to[which] + begin;
    const std::byte* from = copies.from[which] + begin;
    const auto places =
        reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from);
    if (places % sizeof(uint4) == 0) {
        copy<uint4>(to, from, bytes);
    } else if (places % sizeof(std::uint32_t) == 0) {
        copy<std::uint32_t>(to, from, bytes);
    } else if (places % sizeof(std::uint16_t) == 0) {
        copy<std::uint16_t>(to, from, bytes);
    } else {
        copy<unsigned char>(to, from, bytes);
    }
}

}  // namespace

cudaError_t load_copies() {
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(copy_all));
}

cudaError_t launch_copies(const Device::Copies& copies, cudaStream_t stream) {
    Copies work{};
    unsigned blocks = 0;
    for (std::size_t i = 0; i < copies.count; ++i) {
        work.from[i] = copies.from[i];
        work.to[i] = copies.to[i];
        work.bytes[i] = copies.bytes[i];
        work.first[i] = blocks;
        blocks += static_cast<unsigned>((copies.bytes[i] + kChunk - 1) / kChunk);
    }
    if (blocks == 0) return cudaSuccess;
    work.count = static_cast<unsigned>(copies.count);
    void* arguments[] = {&work};
    return cudaLaunchKernel(reinterpret_cast<const void*>(copy_all), dim3(blocks),
                            dim3(kReductionThreads), arguments, 0, stream);
}

}  // namespace batchai::coll

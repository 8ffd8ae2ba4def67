// SPDX-License-Identifier: Apache-2.0
//
// Emulated GPUs, for tests on a machine without one: the part of CUDA's driver and runtime
// (cuda.cpp, streams.cpp), NCCL (nccl.cpp) and kernels (kernels.cpp) that the library and its GPU
// tests call. Memory of such a GPU is the host's, and a stream is a thread. A kernel is the one of
// the library's .cu files, compiled for the host, and called for one thread after another.
// BATCHAI_EMULATED_GPUS: how many there are (default: 1).
//
// It shows that the calls are right and in order, and what the kernels compute. It does not show
// how fast anything is, and what a GPU does about memory that is not its own.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <tuple>
#include <utility>

namespace emulation {

// What a launch does, whose arguments have been copied: in its stream.
using Launch = std::function<void(dim3 blocks, dim3 threads)>;
// Copies the arguments of a launch.
using Kernel = std::function<Launch(void** arguments)>;

// In cuda.cpp.
int gpus();
int current_gpu();
cudaError_t fail(cudaError_t status);  // as what cudaGetLastError() returns
// Whether it is memory of a GPU, or pinned: what a stream can reach at any time.
bool is_reachable(const void* memory);

// In streams.cpp.
void enqueue(cudaStream_t stream, std::function<void()> work);
void wait_for_all_streams();
void add_kernel(const void* function, Kernel kernel);

// A kernel's own place, while it is called.
inline thread_local dim3 grid_dim, block_dim, block_index, thread_index;

template <class... Arguments>
void add_kernel(void (*kernel)(Arguments...)) {
    const auto call = [kernel](const auto&... values) {
        const auto [blocks, threads] = std::pair{grid_dim.x, block_dim.x};
        for (block_index.x = 0; block_index.x < blocks; ++block_index.x) {
            for (thread_index.x = 0; thread_index.x < threads; ++thread_index.x) kernel(values...);
        }
    };
    add_kernel(reinterpret_cast<const void*>(kernel), [call](void** arguments) -> Launch {
        const auto values = [&]<std::size_t... i>(std::index_sequence<i...>) {
            return std::tuple<Arguments...>(*static_cast<Arguments*>(arguments[i])...);
        }
        (std::index_sequence_for<Arguments...>{});
        return [call, values](dim3 blocks, dim3 threads) {
            grid_dim = blocks;
            block_dim = threads;
            std::apply(call, values);
        };
    });
}

}  // namespace emulation

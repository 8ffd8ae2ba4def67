// SPDX-License-Identifier: Apache-2.0
//
// A caller's own memory and streams on a GPU, as a program has them that computes there. Errors are
// exceptions. Of the GPU that is current.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

#include "value_of.hpp"

namespace batchai::coll::gpu {

inline void cuda(cudaError_t status, const char* what) {
    if (status == cudaSuccess) return;
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

class GpuMemory {
  public:
    explicit GpuMemory(std::size_t bytes) {
        void* memory = nullptr;
        cuda(cudaMalloc(&memory, bytes), "cudaMalloc");
        data_ = static_cast<std::byte*>(memory);
    }
    GpuMemory(const GpuMemory&) = delete;
    GpuMemory& operator=(const GpuMemory&) = delete;
    ~GpuMemory() { (void)cudaFree(data_); }

    std::byte* data() const { return data_; }

  private:
    std::byte* data_ = nullptr;
};

class PinnedMemory {
  public:
    explicit PinnedMemory(std::size_t bytes) {
        void* memory = nullptr;
        cuda(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable), "cudaHostAlloc");
        data_ = static_cast<std::byte*>(memory);
    }
    PinnedMemory(const PinnedMemory&) = delete;
    PinnedMemory& operator=(const PinnedMemory&) = delete;
    ~PinnedMemory() { (void)cudaFreeHost(data_); }

    std::byte* data() const { return data_; }

  private:
    std::byte* data_ = nullptr;
};

class Stream {
  public:
    // As frameworks make them: it does not wait for the legacy default stream.
    Stream() { cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream"); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    ~Stream() { (void)cudaStreamDestroy(stream_); }

    operator cudaStream_t() const { return stream_; }
    void wait() const { cuda(cudaStreamSynchronize(stream_), "waiting for a stream"); }

  private:
    cudaStream_t stream_ = nullptr;
};

}  // namespace batchai::coll::gpu

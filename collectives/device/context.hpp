// SPDX-License-Identifier: Apache-2.0
//
// CudaContext: a GPU's primary context, which the CUDA runtime and what the caller computes with
// use too. CurrentContext: it is this thread's while this lives; then what was before, also where
// that was none. cudaSetDevice, there and back, would be simpler, but make a context on the GPU
// that the thread has not used so far, the first one of the node for most: hundreds of MB of it for
// each rank. Meanwhile what other threads capture into graphs is no matter of this one's, which by
// itself would spoil it by asking for an event, and fail.
//
// Of the driver, whose library is loaded when the first context is opened.
#pragma once

#include <utility>

#include "sys/result.hpp"

struct CUctx_st;

namespace batchai::coll {

class CudaContext {
  public:
    // How many GPUs this process sees; an error where there is no driver to ask.
    static sys::Result<int> count();
    // number: as cudaSetDevice counts in this process. Makes the context where nobody has yet.
    static sys::Result<CudaContext> open(int number);

    CudaContext(CudaContext&& other) noexcept
        : device_(other.device_), context_(std::exchange(other.context_, nullptr)) {}
    CudaContext& operator=(CudaContext&& other) noexcept {
        std::swap(device_, other.device_);
        std::swap(context_, other.context_);
        return *this;
    }
    ~CudaContext();

  private:
    friend class CurrentContext;
    CudaContext(int device, CUctx_st* context) : device_(device), context_(context) {}

    int device_;  // a CUdevice
    CUctx_st* context_;
};

class CurrentContext {
  public:
    explicit CurrentContext(const CudaContext& context);
    CurrentContext(const CurrentContext&) = delete;
    CurrentContext& operator=(const CurrentContext&) = delete;
    ~CurrentContext();

  private:
    void exchange_capture_mode();

    bool pushed_;
    int capture_mode_;  // the other one of two: this thread's before, and that which is good here
};

}  // namespace batchai::coll

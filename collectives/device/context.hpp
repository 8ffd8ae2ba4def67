// SPDX-License-Identifier: Apache-2.0
//
// CudaContext: a GPU's primary context, which the CUDA runtime and the caller's framework use too.
// CurrentContext: makes it the thread's context while the object lives, then restores the one
// before, or none. Calling cudaSetDevice twice would be simpler. But it would also make a context
// on the thread's default GPU, for most ranks the node's first: hundreds of MB there for each rank.
//
// While a CurrentContext lives, graph captures of other threads do not concern this thread.
// Otherwise a query of an event here would fail, and would spoil their captures.
//
// Both use the CUDA driver, whose library is loaded when the first context is opened.
#pragma once

#include <utility>

#include "sys/result.hpp"

struct CUctx_st;

namespace batchai::coll {

class CudaContext {
  public:
    // How many GPUs this process sees; an error if there is no driver.
    static sys::Result<int> count();
    // number: as cudaSetDevice counts in this process. Makes the context if there is none yet.
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
    int capture_mode_;  // the mode to exchange with the thread's: after, the one to restore
};

}  // namespace batchai::coll

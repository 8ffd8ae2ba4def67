// SPDX-License-Identifier: Apache-2.0
//
// CudaContext: a GPU's primary context, which the CUDA runtime and the caller's framework use too.
// CurrentContext: makes it the thread's context while the object lives. Its destructor restores the
// previous context, or none. Calling cudaSetDevice twice would be simpler, but would also make a
// context on the thread's default GPU. For most ranks that is the node's first GPU, with hundreds
// of MB for each rank.
//
// While a CurrentContext lives, graph captures of other threads do not affect this thread.
// Otherwise querying an event here would fail and invalidate their captures.
//
// Both use the CUDA driver, whose library is loaded when the first context is opened.
#pragma once

#include <utility>

#include "sys/result.hpp"

struct CUctx_st;

namespace batchai::coll {

class CudaContext {
  public:
    // The number of GPUs that this process sees; an error if there is no driver.
    static sys::Result<int> count();
    // number: as cudaSetDevice counts in this process. Makes the context if it does not exist yet.
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
    int capture_mode_;  // swapped with the thread's mode; afterwards holds the mode to restore
};

}  // namespace batchai::coll

// SPDX-License-Identifier: Apache-2.0
//
// The GPU kernels of CudaDevice: reductions (kernels.cu), one kernel for each type and operation,
// and several copies at once (copies.cu). Reductions give the same bits as those of reduce/, except
// that any of several NaNs may be the result.
#pragma once

#include <cuda_runtime_api.h>

#include "collectives/device/device.hpp"

namespace batchai::coll {

// Loads all kernels onto the current device. Otherwise CUDA loads a kernel at its first launch, and
// may wait for running kernels. Such a kernel can be NCCL's, which waits for a rank that waits for
// this reduction. An error: the kernels were built for other GPUs.
cudaError_t load_reductions();
cudaError_t load_copies();
// Puts a reduction, which Device::check has accepted, into a stream of the current device. At most
// `blocks` thread blocks work on it: as many as the device runs at a time.
cudaError_t launch_reduction(const Device::Reduction& reduction, int blocks, cudaStream_t stream);
cudaError_t launch_copies(const Device::Copies& copies, cudaStream_t stream);
// Threads per block.
constexpr int kReductionThreads = 512;

}  // namespace batchai::coll

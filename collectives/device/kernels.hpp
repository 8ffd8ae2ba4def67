// SPDX-License-Identifier: Apache-2.0
//
// The GPU kernels of CudaDevice: reductions (kernels.cu), one kernel for each type and operation,
// and many copies at once (copies.cu). Reductions give the same bits as those of reduce/, except
// that of several NaNs the result may be another one.
#pragma once

#include <cuda_runtime_api.h>

#include "collectives/device/device.hpp"

namespace batchai::coll {

// Loads all kernels onto the current device. Without it CUDA loads a kernel at its first launch,
// and may then wait for running kernels: at worst for NCCL's, which waits for a rank that waits for
// this reduction. An error if the kernels were built for other GPUs.
cudaError_t load_reductions();
cudaError_t load_copies();
// Puts a reduction, which Device::check has seen, into a stream of the device that is current. Up
// to `blocks` blocks work on it: what the device runs at a time.
cudaError_t launch_reduction(const Device::Reduction& reduction, int blocks, cudaStream_t stream);
cudaError_t launch_copies(const Device::Copies& copies, cudaStream_t stream);
// The threads of a block.
constexpr int kReductionThreads = 512;

}  // namespace batchai::coll

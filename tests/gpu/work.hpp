// SPDX-License-Identifier: Apache-2.0
//
// Kernels of a program that computes, for tests and measurements: they put what they are asked for
// into a stream and return.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace batchai::coll::gpu {

// Keeps `blocks` blocks of 256 threads busy, each with this number of dependent multiplications.
cudaError_t burn(long long multiplications, int blocks, cudaStream_t stream);
// to[i] = value
cudaError_t fill(float* to, std::size_t count, float value, cudaStream_t stream);
// to[i] += value
cudaError_t add(float* to, std::size_t count, float value, cudaStream_t stream);

}  // namespace batchai::coll::gpu

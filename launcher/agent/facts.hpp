// SPDX-License-Identifier: Apache-2.0
//
// What an agent finds out about its node for the root.
#pragma once

#include <string>

#include "launcher/env/env.hpp"

namespace batchai::launcher {

// SLURM_GPUS_ON_NODE, else the length of CUDA_VISIBLE_DEVICES, else 0.
int count_gpus(const env::Environment& environment);

// A TCP port that is free now and that the kernel does not hand out by itself; 0: none found.
int find_free_port();

}  // namespace batchai::launcher

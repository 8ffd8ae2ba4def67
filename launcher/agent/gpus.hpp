// SPDX-License-Identifier: Apache-2.0
//
// The GPUs of the node that the job may use, in the order of the local ranks: their number, the
// GPUs of each rank, and their place in the machine.
#pragma once

#include <string>
#include <vector>

#include "launcher/env/env.hpp"

namespace batchai::launcher {

inline constexpr const char* kNvidiaGpus = "/proc/driver/nvidia/gpus";

// SLURM_GPUS_ON_NODE, else the length of CUDA_VISIBLE_DEVICES, else, outside Slurm, what the driver
// has.
int count_gpus(const env::Environment& environment, const std::string& driver = kNvidiaGpus);

// From 0. The GPU of a rank's own number is among them, so that programs which take that one do
// well; with fewer ranks than GPUs it has others too, with more ranks they share.
std::vector<int> gpus_of_rank(int local_rank, int local_size, int gpus);

// PCI addresses, "0000:3b:00.0", of the `count` GPUs; empty where they cannot be told.
std::vector<std::string> gpu_addresses(const env::Environment& environment, int count,
                                       const std::string& driver = kNvidiaGpus);

// Whether they are parts of GPUs (MIG), of which CUDA shows a process the first one of its list
// only: each rank has to be shown its own.
bool are_parts(const env::Environment& environment);

// The value of CUDA_VISIBLE_DEVICES with which a process sees those of the `count` GPUs only.
std::string visible_gpus(const env::Environment& environment, int count,
                         const std::vector<int>& gpus);

}  // namespace batchai::launcher

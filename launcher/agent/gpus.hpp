// SPDX-License-Identifier: Apache-2.0
//
// The GPUs of the node that the job may use, in the order of the local ranks: their number, the
// GPUs of each rank, and their place in the machine.
#pragma once

#include <string>
#include <vector>

#include "launcher/env/env.hpp"
#include "sys/result.hpp"

namespace batchai::launcher {

inline constexpr const char* kNvidiaGpus = "/proc/driver/nvidia/gpus";

// The devices that CUDA finds in a value of CUDA_VISIBLE_DEVICES, in order: "3" for an index, else
// the word as it is ("GPU-8932f937", "MIG-..."). As in CUDA, the list ends at the first word that
// cannot be a device (empty, -1, NoDevFiles) or is of another kind than the first word, blanks
// around an index do not count, and only an index's digits count ("1gpu"). An error if a device is
// named twice, because CUDA then finds none.
// Source: CUDA Programming Guide, CUDA_VISIBLE_DEVICES; for words, blanks and repetitions,
// PyTorch's torch/cuda/__init__.py, _parse_visible_devices, which follows the driver.
sys::Result<std::vector<std::string>> visible_devices(const std::string& list);

// SLURM_GPUS_ON_NODE, else the number of visible_devices(), else, outside Slurm, the GPUs of the
// driver. The other functions expect an environment for which this one has given no error.
sys::Result<int> count_gpus(const env::Environment& environment,
                            const std::string& driver = kNvidiaGpus);

// GPU indices, from 0. They include the rank's local number, because many programs use that GPU.
// With fewer ranks than GPUs a rank has several GPUs; with more ranks, ranks share a GPU.
std::vector<int> gpus_of_rank(int local_rank, int local_size, int gpus);

// PCI addresses, "0000:3b:00.0", of the `count` GPUs; empty if they are unknown.
std::vector<std::string> gpu_addresses(const env::Environment& environment, int count,
                                       const std::string& driver = kNvidiaGpus);

// Whether the devices are parts of GPUs (MIG). CUDA uses only the first part in its list, so each
// rank must see only its own part.
bool are_parts(const env::Environment& environment);

// The value of CUDA_VISIBLE_DEVICES with which a process sees only those of the `count` GPUs.
std::string visible_gpus(const env::Environment& environment, int count,
                         const std::vector<int>& gpus);

}  // namespace batchai::launcher

// SPDX-License-Identifier: Apache-2.0
//
// The cores and network devices near a rank's GPUs. A core or device is nearest to a GPU if it
// shares the smallest object of hwloc's topology with the GPU.
#pragma once

#include <string>
#include <vector>

#include "launcher/agent/binding.hpp"

namespace batchai::launcher {

// PCI addresses of each rank's GPUs.
using GpusOfRanks = std::vector<std::vector<std::string>>;

// The CPUs of each rank. Each core goes to the rank whose GPUs are nearest to it. Ranks that are
// equally near share those cores evenly. A core that is near to no GPU goes to no rank. Empty if a
// rank would get no core, for instance if hwloc does not know where the GPUs are.
std::vector<std::vector<int>> near_cores(const Topology& topology, const std::vector<Core>& cores,
                                         const GpusOfRanks& ranks);

// The RDMA devices nearest to each rank's GPUs, "mlx5_0:1,mlx5_1:1". Empty if all devices are
// equally near for all ranks.
std::vector<std::string> near_networks(const Topology& topology, const GpusOfRanks& ranks);

}  // namespace batchai::launcher

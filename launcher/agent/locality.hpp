// SPDX-License-Identifier: Apache-2.0
//
// The cores and network devices near a rank's GPUs. A device is near a GPU if both belong to the
// same, smallest part of the machine that hwloc knows.
#pragma once

#include <string>
#include <vector>

#include "launcher/agent/binding.hpp"

namespace batchai::launcher {

// PCI addresses of each rank's GPUs.
using GpusOfRanks = std::vector<std::vector<std::string>>;

// The CPUs of each rank: each core goes to a rank to whose GPUs it is nearest, evenly where several
// are as near, and to nobody where it is near to none. Empty when some rank would get none, so also
// when the machine does not say where its GPUs are.
std::vector<std::vector<int>> near_cores(const Topology& topology, const std::vector<Core>& cores,
                                         const GpusOfRanks& ranks);

// The RDMA devices nearest to each rank's GPUs, "mlx5_0:1,mlx5_1:1". Empty when there is nothing to
// choose.
std::vector<std::string> near_networks(const Topology& topology, const GpusOfRanks& ranks);

}  // namespace batchai::launcher

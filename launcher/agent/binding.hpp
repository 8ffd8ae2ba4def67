// SPDX-License-Identifier: Apache-2.0
//
// CPU binding, with regard to GPUs (near_cores) or without it (share_cores), and the network
// devices near a rank's GPUs. A rank's cores are neighbours in the machine's topology. Two ranks
// never share a core. A core or device is nearest to a GPU if it shares the smallest object of
// hwloc's topology with the GPU.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

struct hwloc_topology;

namespace batchai::launcher {

// The CPUs (hardware threads) of one core.
using Core = std::vector<int>;

// This machine's topology by hwloc; null if hwloc finds none. Finding the devices takes longer.
struct DestroyTopology {
    void operator()(hwloc_topology* topology) const;
};
using Topology = std::unique_ptr<hwloc_topology, DestroyTopology>;
Topology load_topology(bool with_devices);

// The cores that have a CPU this process may run on, in topology order.
std::vector<Core> allowed_cores(const Topology&);

// An even share of the cores for each rank: its CPUs. Empty when there are more ranks than cores:
// then no rank is bound.
std::vector<std::vector<int>> share_cores(const std::vector<Core>& cores, int ranks);

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

// How many of the cores the job may use on its node-th node: all, or as many as Slurm has granted
// (cpus_per_node: SLURM_JOB_CPUS_PER_NODE, "4(x2),8") if it does not confine jobs to them.
int granted_cores(const std::vector<Core>& cores, const std::string& cpus_per_node, int node);

// The number of ranks and of the cores that they share. cores 0: not known; then the ranks do not
// count as oversubscribed.
struct Load {
    int ranks = 1, cores = 0;
    int cores_of_each() const { return std::max(1, cores / ranks); }
    bool oversubscribed() const { return cores > 0 && ranks > cores; }
};

}  // namespace batchai::launcher

// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/binding.hpp"

#include <hwloc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "sys/text.hpp"

namespace batchai::launcher {
namespace {

// The object's CPUs that this process may run on.
Core allowed_in(hwloc_const_cpuset_t object, hwloc_const_cpuset_t mine) {
    Core cpus;
    for (int cpu = hwloc_bitmap_first(object); cpu >= 0; cpu = hwloc_bitmap_next(object, cpu)) {
        if (hwloc_bitmap_isset(mine, cpu)) cpus.push_back(cpu);
    }
    return cpus;
}

}  // namespace

void DestroyTopology::operator()(hwloc_topology* topology) const {
    hwloc_topology_destroy(topology);
}

Topology load_topology(bool with_devices) {
    // hwloc's plugins read devices and XML. Some load libraries of displays and accelerators.
    ::setenv("HWLOC_PLUGINS_PATH", "/dev/null", 1);
    hwloc_topology_t topology = nullptr;
    if (hwloc_topology_init(&topology) != 0) return {};
    Topology owned(topology);
    // The Linux backend finds all that we need. The x86 backend visits each CPU and waits for busy
    // ones.
    hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    if (with_devices) {
        hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    }
    if (hwloc_topology_load(topology) != 0) return {};
    return owned;
}

std::string as_xml(const Topology& topology) {
    char* xml = nullptr;
    int size = 0;
    if (!topology || hwloc_topology_export_xmlbuffer(topology.get(), &xml, &size, 0) != 0)
        return {};
    std::string text(xml);
    hwloc_free_xmlbuffer(topology.get(), xml);
    return text;
}

std::vector<Core> allowed_cores(const Topology& topology) {
    std::vector<Core> cores;
    if (!topology) return cores;
    const std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)> mine(hwloc_bitmap_alloc(),
                                                                             hwloc_bitmap_free);
    if (hwloc_get_cpubind(topology.get(), mine.get(), HWLOC_CPUBIND_PROCESS) != 0) return cores;
    // Without a description of cores, count each CPU as a core.
    const auto type = hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE
                                                                                   : HWLOC_OBJ_PU;
    hwloc_obj_t core = nullptr;
    while ((core = hwloc_get_next_obj_by_type(topology.get(), type, core)) != nullptr) {
        Core cpus = allowed_in(core->cpuset, mine.get());
        if (!cpus.empty()) cores.push_back(std::move(cpus));
    }
    return cores;
}

int granted_cores(const std::vector<Core>& cores, const std::string& cpus_per_node, int node) {
    std::size_t cpus = 0;
    for (const Core& core : cores) cpus += core.size();
    const int all = static_cast<int>(cores.size());
    const std::vector<int> counts = sys::expand_counts(cpus_per_node);
    if (node >= static_cast<int>(counts.size())) return all;
    const auto granted = static_cast<std::size_t>(counts[node]);
    if (cpus == 0 || granted == 0 || granted >= cpus) return all;
    return std::max(1, static_cast<int>(granted * cores.size() / cpus));
}

std::vector<std::vector<int>> share_cores(const std::vector<Core>& cores, int ranks) {
    std::vector<std::vector<int>> shares;
    const auto total = cores.size();
    const auto count = static_cast<std::size_t>(ranks);
    if (ranks < 1 || count > total) return shares;
    for (std::size_t rank = 0; rank < count; ++rank) {
        std::vector<int>& share = shares.emplace_back();
        for (std::size_t c = rank * total / count; c < (rank + 1) * total / count; ++c) {
            share.insert(share.end(), cores[c].begin(), cores[c].end());
        }
        std::sort(share.begin(), share.end());
    }
    return shares;
}

}  // namespace batchai::launcher

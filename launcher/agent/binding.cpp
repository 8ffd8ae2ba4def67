// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/binding.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hwloc.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <string_view>

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

// The objects from the whole machine down to one object.
using Path = std::vector<hwloc_obj_t>;
Path path_to(hwloc_obj_t object) {
    Path path;
    for (; object != nullptr; object = object->parent) path.push_back(object);
    std::reverse(path.begin(), path.end());
    return path;
}

// Nearness: how many nested objects of the topology contain both. 1: only the whole machine does.
constexpr int kSameMachine = 1;
int nearness(const Path& one, const Path& other) {
    const auto [end, _] = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
    return static_cast<int>(end - one.begin());
}

int nearness(const Path& one, const std::vector<Path>& others) {
    int most = 0;
    for (const Path& other : others) most = std::max(most, nearness(one, other));
    return most;
}

std::vector<std::vector<Path>> paths_to(const Topology& topology, const GpusOfRanks& ranks) {
    std::vector<std::vector<Path>> paths;
    for (const std::vector<std::string>& gpus : ranks) {
        std::vector<Path>& own = paths.emplace_back();
        for (const std::string& address : gpus) {
            own.push_back(
                path_to(hwloc_get_pcidev_by_busidstring(topology.get(), address.c_str())));
        }
    }
    return paths;
}

// The indices of the nearest candidates.
std::vector<int> nearest(const std::vector<int>& nearnesses, int at_least) {
    std::vector<int> list;
    int most = at_least;
    for (int i = 0; i < static_cast<int>(nearnesses.size()); ++i) {
        if (nearnesses[i] > most) list.clear();
        if (nearnesses[i] >= most) list.push_back(i);
        most = std::max(most, nearnesses[i]);
    }
    return list;
}

struct Network {
    std::string port;  // "mlx5_0:1"
    Path path;
    bool infiniband = false;
};

std::string_view info(hwloc_obj_t object, const std::string& name) {
    const char* value = hwloc_obj_get_info_by_name(object, name.c_str());
    return value == nullptr ? "" : value;
}

// RDMA devices, each with its first port that has a link. If some are InfiniBand, the Ethernet
// devices are left out.
std::vector<Network> networks_of(const Topology& topology) {
    constexpr int kPorts = 4;
    std::vector<Network> networks;
    hwloc_obj_t device = nullptr;
    while ((device = hwloc_get_next_osdev(topology.get(), device)) != nullptr) {
        if (device->attr->osdev.type != HWLOC_OBJ_OSDEV_OPENFABRICS) continue;
        for (int port = 1; port <= kPorts; ++port) {
            if (info(device, fmt::format("Port{}State", port)) != "4") continue;
            const std::string_view id = info(device, fmt::format("Port{}LID", port));
            networks.push_back({fmt::format("{}:{}", device->name, port), path_to(device),
                                !id.empty() && id != "0x0" && id != "0"});
            break;
        }
    }
    const bool any = std::any_of(networks.begin(), networks.end(),
                                 [](const Network& network) { return network.infiniband; });
    std::erase_if(networks, [any](const Network& network) { return any && !network.infiniband; });
    return networks;
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

std::vector<std::vector<int>> near_cores(const Topology& topology, const std::vector<Core>& cores,
                                         const GpusOfRanks& ranks) {
    if (!topology) return {};
    const std::vector<std::vector<Path>> gpus = paths_to(topology, ranks);
    std::map<std::vector<int>, std::vector<Core>> regions;  // keyed by the nearest ranks
    for (const Core& core : cores) {
        const Path path = path_to(hwloc_get_pu_obj_by_os_index(topology.get(), core.front()));
        std::vector<int> nearnesses;
        for (const std::vector<Path>& own : gpus) nearnesses.push_back(nearness(path, own));
        const std::vector<int> sharing = nearest(nearnesses, kSameMachine + 1);
        if (!sharing.empty()) regions[sharing].push_back(core);
    }
    std::vector<std::vector<int>> cpus(ranks.size());
    for (const auto& [sharing, region] : regions) {
        const auto shares = share_cores(region, static_cast<int>(sharing.size()));
        for (std::size_t i = 0; i < shares.size(); ++i) {
            std::vector<int>& own = cpus[sharing[i]];
            own.insert(own.end(), shares[i].begin(), shares[i].end());
        }
    }
    for (std::vector<int>& own : cpus) {
        if (own.empty()) return {};
        std::sort(own.begin(), own.end());
    }
    return cpus;
}

std::vector<std::string> near_networks(const Topology& topology, const GpusOfRanks& ranks) {
    if (!topology) return {};
    const std::vector<Network> networks = networks_of(topology);
    std::vector<std::string> chosen;
    bool choice = false;
    for (const std::vector<Path>& gpus : paths_to(topology, ranks)) {
        std::vector<int> nearnesses;
        for (const Network& network : networks) nearnesses.push_back(nearness(network.path, gpus));
        std::vector<std::string> ports;
        for (const int i : nearest(nearnesses, 0)) ports.push_back(networks[i].port);
        choice = choice || ports.size() < networks.size();
        chosen.push_back(fmt::format("{}", fmt::join(ports, ",")));
    }
    if (!choice) chosen.clear();
    return chosen;
}

}  // namespace batchai::launcher

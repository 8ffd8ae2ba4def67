// SPDX-License-Identifier: Apache-2.0
//
// What each family of programs reads to find its ranks, its network and its devices.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "launcher/env/env.hpp"
#include "sys/text.hpp"

namespace batchai::launcher::env {
namespace {

void put_first(std::string& path, const std::string& directory) {
    const bool is_first = path == directory || path.starts_with(directory + ":");
    if (!is_first) path = path.empty() ? directory : directory + ":" + path;
}

}  // namespace

Place place_in(const RankMap& map, int rank) {
    Place place;
    place.rank = rank;
    place.size = map.size();
    place.node = map.node_of(rank);
    place.nodes = map.used_nodes();
    place.node_name = map.nodes[place.node];
    place.local_rank = map.local_rank(rank);
    place.local_size = map.local_size(place.node);
    place.local_ranks = fmt::format("{}", fmt::join(map.ranks_on(place.node), ","));
    place.cyclic = !map.places.empty();
    std::vector<int> counts;
    for (int node = 0; node < place.nodes; ++node) {
        counts.push_back(map.local_size(node));
        if (place.local_rank >= counts.back()) continue;
        if (node < place.node) ++place.cross_rank;
        ++place.cross_size;
    }
    place.ranks_per_node = sys::counts_of(counts);
    if (place.nodes < static_cast<int>(map.nodes.size())) {
        const auto end = map.nodes.begin() + place.nodes;
        place.node_list = fmt::format("{}", fmt::join(map.nodes.begin(), end, ","));
    }
    return place;
}

// For torch.distributed's env:// rendezvous, as torchrun sets them.
void add_torch(Environment& environment, const Place& place) {
    environment["RANK"] = std::to_string(place.rank);
    environment["WORLD_SIZE"] = std::to_string(place.size);
    environment["LOCAL_RANK"] = std::to_string(place.local_rank);
    environment["LOCAL_WORLD_SIZE"] = std::to_string(place.local_size);
    environment["GROUP_RANK"] = std::to_string(place.node);
    environment["GROUP_WORLD_SIZE"] = std::to_string(place.nodes);
    environment["ROLE_RANK"] = environment["RANK"];
    environment["ROLE_WORLD_SIZE"] = environment["WORLD_SIZE"];
    environment["ROLE_NAME"] = "default";
    environment["NODE_RANK"] = std::to_string(place.node);
    environment["MASTER_ADDR"] = place.master_address;
    environment["MASTER_PORT"] = std::to_string(place.master_port);
    environment.emplace("OMP_NUM_THREADS", std::to_string(place.cores));
}

// JAX looks for mpirun's variable, and takes the numbers of Open MPI with it. Of the variable it
// reads an address. The address of the coordinator has a variable of its own.
void add_jax(Environment& environment, const Place& place) {
    if (!place.shared_host || environment.contains("SLURM_JOB_ID")) return;
    environment.emplace("OMPI_MCA_orte_hnp_uri", "4096.0;tcp://" + place.master_address + ":1");
    environment.emplace("JAX_COORDINATOR_ADDRESS",
                        fmt::format("{}:{}", place.master_address, place.master_port));
}

// TF_CONFIG, which tf.distribute reads. All ranks are workers.
void add_tensorflow(Environment& environment, const Place& place,
                    const std::vector<std::string>& workers) {
    if (workers.empty()) return;
    environment.emplace(
        "TF_CONFIG",
        fmt::format(R"({{"cluster":{{"worker":["{}"]}},"task":{{"type":"worker","index":{}}}}})",
                    fmt::join(workers, "\",\""), place.rank));
}

void add_horovod(Environment& environment, const Place& place) {
    environment["HOROVOD_RANK"] = std::to_string(place.rank);
    environment["HOROVOD_SIZE"] = std::to_string(place.size);
    environment["HOROVOD_LOCAL_RANK"] = std::to_string(place.local_rank);
    environment["HOROVOD_LOCAL_SIZE"] = std::to_string(place.local_size);
    environment["HOROVOD_CROSS_RANK"] = std::to_string(place.cross_rank);
    environment["HOROVOD_CROSS_SIZE"] = std::to_string(place.cross_size);
    environment["HOROVOD_HOSTNAME"] = place.node_name;
    // An outer launcher's server knows other ranks. Horovod itself decides whether it uses Gloo.
    environment.erase("HOROVOD_GLOO_RENDEZVOUS_ADDR");
    environment.erase("HOROVOD_GLOO_RENDEZVOUS_PORT");
    if (place.rendezvous_port == 0) return;
    environment["HOROVOD_GLOO_RENDEZVOUS_ADDR"] = "127.0.0.1";
    environment["HOROVOD_GLOO_RENDEZVOUS_PORT"] = std::to_string(place.rendezvous_port);
}

bool has_own_yield(const Environment& environment) {
    return environment.contains("OMPI_MCA_mpi_yield_when_idle");
}

void add_openmpi(Environment& environment, const Place& place) {
    // Open MPI 4.1 looks for a launcher before it looks for PMIx. Without these variables each rank
    // would start as a program of one rank. Open MPI 5 does not need them.
    environment["OMPI_MCA_schizo"] = "ompi";
    environment["OMPI_MCA_orte_externally_bound"] = "1";
    environment.emplace("OMPI_MCA_hwloc_base_binding_policy", "none");
    // A directory for each agent, so that the shared memory of two agents on one host stays apart
    // and is removed with the agent.
    if (!place.shm_directory.empty()) {
        environment.emplace("OMPI_MCA_btl_vader_backing_directory", place.shm_directory);
    }
    // The "nodes" are on one machine, and reach each other over loopback.
    if (place.shared_host && !environment.contains("OMPI_MCA_btl_tcp_if_exclude")) {
        environment.emplace("OMPI_MCA_btl_tcp_if_include", "lo");
    }
    // Open MPI 4.1 reads it as set by its mpirun, so the user's mpi_yield_when_idle has priority.
    // Open MPI 5 asks PMIx instead.
    if (place.oversubscribed) environment.emplace("OMPI_MCA_mpi_oversubscribe", "1");
    environment["OMPI_COMM_WORLD_RANK"] = std::to_string(place.rank);
    environment["OMPI_COMM_WORLD_SIZE"] = std::to_string(place.size);
    environment["OMPI_COMM_WORLD_LOCAL_RANK"] = std::to_string(place.local_rank);
    environment["OMPI_COMM_WORLD_LOCAL_SIZE"] = std::to_string(place.local_size);
    environment["OMPI_COMM_WORLD_NODE_RANK"] = std::to_string(place.local_rank);
    // OMPI_UNIVERSE_SIZE is not set: with it, mpirun refuses to run inside a rank.
}

// Intel MPI's launcher tells the library where each rank is pinned. Without this, waiting ranks
// spin. MPICH has no such setting, with its own launcher or ours.
void add_intel_mpi(Environment& environment, const Place& place) {
    if (!place.oversubscribed || environment.contains("I_MPI_THREAD_YIELD")) return;
    environment.emplace("I_MPI_WAIT_MODE", "1");
}

// MPICH 5 finds PMI-1 and PMIx, and ends in MPI_Init unless a setting chooses one. An MPICH that
// was built for PMIx alone ignores the setting.
void add_mpich(Environment& environment, const Place& place) {
    environment["PMI_RANK"] = std::to_string(place.rank);
    environment["PMI_SIZE"] = std::to_string(place.size);
    environment.emplace("MPIR_CVAR_PMI_VERSION", "1");
}

// UCX_NET_DEVICES is not set: an interface there would exclude the RDMA devices that UCX prefers.
void add_network(Environment& environment, const Place& place) {
    if (place.interface.empty()) return;
    environment.emplace("GLOO_SOCKET_IFNAME", place.interface);
    environment.emplace("HOROVOD_GLOO_IFACE", place.interface);
    environment.emplace("NCCL_SOCKET_IFNAME", "=" + place.interface);  // eth1, but not eth10
    // Open MPI tries all interfaces, unless the user has named one.
    if (place.interface_asked && !environment.contains("OMPI_MCA_btl_tcp_if_exclude")) {
        environment.emplace("OMPI_MCA_btl_tcp_if_include", place.interface);
    }
}

void add_devices(Environment& environment, const Place& place) {
    if (!place.networks.empty()) environment.emplace("UCX_NET_DEVICES", place.networks);
    if (!place.visible_gpus.empty()) environment["CUDA_VISIBLE_DEVICES"] = place.visible_gpus;
}

void add_batchai(Environment& environment, const Place& place, const std::string& python_directory,
                 const std::string& library) {
    const std::string& horovod = environment.emplace(kHorovod, "auto").first->second;
    if (!python_directory.empty()) {
        std::string path = value_of(environment, "PYTHONPATH");
        if (horovod != "system") put_first(path, python_directory);
        put_first(path,
                  (std::filesystem::path(python_directory).parent_path() / "startup").string());
        environment["PYTHONPATH"] = path;
    }
    if (!library.empty()) environment.emplace("BATCHAI_COLLECTIVES_LIBRARY", library);
    environment.emplace("PYTHONUNBUFFERED", "1");    // lines appear as soon as they are printed
    environment.emplace("PYTHONFAULTHANDLER", "1");  // a crash shows its line
    environment["BATCHAI_NODE_NAME"] = place.node_name;
}

}  // namespace batchai::launcher::env

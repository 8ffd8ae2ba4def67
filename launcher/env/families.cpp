// SPDX-License-Identifier: Apache-2.0
//
// What each family of programs reads to find its ranks, its network and its devices.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "launcher/env/env.hpp"
#include "sys/text.hpp"

namespace batchai::launcher::env {
namespace {

void put_first(std::string& path, const std::string& directory) {
    const bool is_first = path == directory || path.starts_with(directory + ":");
    if (!is_first) path = path.empty() ? directory : directory + ":" + path;
}

}  // namespace

RankNumbers numbers_in(const RankMap& map, int rank) {
    RankNumbers numbers;
    numbers.rank = rank;
    numbers.size = map.size();
    numbers.node = map.node_of(rank);
    numbers.nodes = map.used_nodes();
    numbers.node_name = map.nodes[numbers.node];
    numbers.local_rank = map.local_rank(rank);
    numbers.local_size = map.local_size(numbers.node);
    numbers.local_ranks = fmt::format("{}", fmt::join(map.ranks_on(numbers.node), ","));
    numbers.cyclic = !map.places.empty();
    std::vector<int> counts;
    for (int node = 0; node < numbers.nodes; ++node) {
        counts.push_back(map.local_size(node));
        if (numbers.local_rank >= counts.back()) continue;
        if (node < numbers.node) ++numbers.cross_rank;
        ++numbers.cross_size;
    }
    numbers.ranks_per_node = sys::counts_of(counts);
    if (numbers.nodes < static_cast<int>(map.nodes.size())) {
        const auto end = map.nodes.begin() + numbers.nodes;
        numbers.node_list = fmt::format("{}", fmt::join(map.nodes.begin(), end, ","));
    }
    return numbers;
}

// For torch.distributed's env:// rendezvous, as torchrun sets them.
void add_torch(Environment& environment, const RankNumbers& numbers) {
    environment["RANK"] = std::to_string(numbers.rank);
    environment["WORLD_SIZE"] = std::to_string(numbers.size);
    environment["LOCAL_RANK"] = std::to_string(numbers.local_rank);
    environment["LOCAL_WORLD_SIZE"] = std::to_string(numbers.local_size);
    environment["GROUP_RANK"] = std::to_string(numbers.node);
    environment["GROUP_WORLD_SIZE"] = std::to_string(numbers.nodes);
    environment["ROLE_RANK"] = environment["RANK"];
    environment["ROLE_WORLD_SIZE"] = environment["WORLD_SIZE"];
    environment["ROLE_NAME"] = "default";
    environment["NODE_RANK"] = std::to_string(numbers.node);
    environment["MASTER_ADDR"] = numbers.master_address;
    environment["MASTER_PORT"] = std::to_string(numbers.master_port);
    environment.emplace("OMP_NUM_THREADS", std::to_string(numbers.cores));
}

// JAX looks for mpirun's variable, and takes the numbers of Open MPI with it. Of the variable it
// reads an address. The address of the coordinator has a variable of its own.
void add_jax(Environment& environment, const RankNumbers& numbers) {
    if (!numbers.shared_host || environment.contains("SLURM_JOB_ID")) return;
    environment.emplace("OMPI_MCA_orte_hnp_uri", "4096.0;tcp://" + numbers.master_address + ":1");
    environment.emplace("JAX_COORDINATOR_ADDRESS",
                        fmt::format("{}:{}", numbers.master_address, numbers.master_port));
}

// TF_CONFIG, which tf.distribute reads. All ranks are workers.
void add_tensorflow(Environment& environment, const RankNumbers& numbers,
                    const std::vector<std::string>& workers) {
    if (workers.empty()) return;
    environment.emplace(
        "TF_CONFIG",
        fmt::format(R"({{"cluster":{{"worker":["{}"]}},"task":{{"type":"worker","index":{}}}}})",
                    fmt::join(workers, "\",\""), numbers.rank));
}

void add_horovod(Environment& environment, const RankNumbers& numbers) {
    environment["HOROVOD_RANK"] = std::to_string(numbers.rank);
    environment["HOROVOD_SIZE"] = std::to_string(numbers.size);
    environment["HOROVOD_LOCAL_RANK"] = std::to_string(numbers.local_rank);
    environment["HOROVOD_LOCAL_SIZE"] = std::to_string(numbers.local_size);
    environment["HOROVOD_CROSS_RANK"] = std::to_string(numbers.cross_rank);
    environment["HOROVOD_CROSS_SIZE"] = std::to_string(numbers.cross_size);
    environment["HOROVOD_HOSTNAME"] = numbers.node_name;
    // An outer launcher's server knows other ranks. Horovod itself decides whether it uses Gloo.
    environment.erase("HOROVOD_GLOO_RENDEZVOUS_ADDR");
    environment.erase("HOROVOD_GLOO_RENDEZVOUS_PORT");
    if (numbers.rendezvous_port == 0) return;
    environment["HOROVOD_GLOO_RENDEZVOUS_ADDR"] = "127.0.0.1";
    environment["HOROVOD_GLOO_RENDEZVOUS_PORT"] = std::to_string(numbers.rendezvous_port);
}

bool has_own_yield(const Environment& environment) {
    return environment.contains("OMPI_MCA_mpi_yield_when_idle");
}

void add_openmpi(Environment& environment, const RankNumbers& numbers) {
    // Open MPI 4.1 looks for a launcher before it looks for PMIx. Without these variables each rank
    // would start as a program of one rank. Open MPI 5 does not need them.
    environment["OMPI_MCA_schizo"] = "ompi";
    environment["OMPI_MCA_orte_externally_bound"] = "1";
    environment.emplace("OMPI_MCA_hwloc_base_binding_policy", "none");
    // A directory for each agent, so that the shared memory of two agents on one host stays apart
    // and is removed with the agent.
    if (!numbers.shm_directory.empty()) {
        environment.emplace("OMPI_MCA_btl_vader_backing_directory", numbers.shm_directory);
    }
    // The "nodes" are on one machine, and reach each other over loopback.
    if (numbers.shared_host && !environment.contains("OMPI_MCA_btl_tcp_if_exclude")) {
        environment.emplace("OMPI_MCA_btl_tcp_if_include", "lo");
    }
    // Open MPI 4.1 reads it as set by its mpirun, so the user's mpi_yield_when_idle has priority.
    // Open MPI 5 asks PMIx instead.
    if (numbers.oversubscribed) environment.emplace("OMPI_MCA_mpi_oversubscribe", "1");
    environment["OMPI_COMM_WORLD_RANK"] = std::to_string(numbers.rank);
    environment["OMPI_COMM_WORLD_SIZE"] = std::to_string(numbers.size);
    environment["OMPI_COMM_WORLD_LOCAL_RANK"] = std::to_string(numbers.local_rank);
    environment["OMPI_COMM_WORLD_LOCAL_SIZE"] = std::to_string(numbers.local_size);
    environment["OMPI_COMM_WORLD_NODE_RANK"] = std::to_string(numbers.local_rank);
    // OMPI_UNIVERSE_SIZE is not set: with it, mpirun refuses to run inside a rank.
}

// Intel MPI's launcher tells the library where each rank is pinned. Without this, waiting ranks
// spin. MPICH has no such setting, with its own launcher or ours.
void add_intel_mpi(Environment& environment, const RankNumbers& numbers) {
    if (!numbers.oversubscribed || environment.contains("I_MPI_THREAD_YIELD")) return;
    environment.emplace("I_MPI_WAIT_MODE", "1");
}

// MPICH 5 finds PMI-1 and PMIx, and ends in MPI_Init unless a setting chooses one. An MPICH that
// was built for PMIx alone ignores the setting.
void add_mpich(Environment& environment, const RankNumbers& numbers) {
    environment["PMI_RANK"] = std::to_string(numbers.rank);
    environment["PMI_SIZE"] = std::to_string(numbers.size);
    environment.emplace("MPIR_CVAR_PMI_VERSION", "1");
}

// UCX_NET_DEVICES is not set: an interface there would exclude the RDMA devices that UCX prefers.
void add_network(Environment& environment, const RankNumbers& numbers) {
    if (numbers.interface.empty()) return;
    environment.emplace("GLOO_SOCKET_IFNAME", numbers.interface);
    environment.emplace("HOROVOD_GLOO_IFACE", numbers.interface);
    environment.emplace("NCCL_SOCKET_IFNAME", "=" + numbers.interface);  // eth1, but not eth10
    // Open MPI tries all interfaces, unless the user has named one. On one whose address another
    // node has too, such as docker0, a rank would connect to its own node and wait without end.
    if (environment.contains("OMPI_MCA_btl_tcp_if_exclude")) return;
    if (numbers.interface_asked) {
        environment.emplace("OMPI_MCA_btl_tcp_if_include", numbers.interface);
    } else if (!numbers.ambiguous.empty() && !environment.contains("OMPI_MCA_btl_tcp_if_include")) {
        environment["OMPI_MCA_btl_tcp_if_exclude"] =
            fmt::format("127.0.0.1/8,sppp,{}", fmt::join(numbers.ambiguous, ","));
    }
}

bool openmpi_has_interfaces(const Environment& environment) {
    std::vector<std::string> files{
        value_of(environment, "HOME") + "/.openmpi/mca-params.conf",
        "/etc/openmpi/openmpi-mca-params.conf",
        value_of(environment, "OPAL_PREFIX") + "/etc/openmpi-mca-params.conf"};
    std::istringstream path(value_of(environment, "PATH"));
    for (std::string folder; std::getline(path, folder, ':');)
        files.push_back(folder + "/../etc/openmpi-mca-params.conf");
    for (const std::string& name : files) {
        std::ifstream file(name);
        for (std::string line; std::getline(file >> std::ws, line);)
            if (line.starts_with("btl_tcp_if_")) return true;
    }
    return false;
}

void add_devices(Environment& environment, const RankNumbers& numbers) {
    if (!numbers.networks.empty()) environment.emplace("UCX_NET_DEVICES", numbers.networks);
    if (!numbers.visible_gpus.empty()) environment["CUDA_VISIBLE_DEVICES"] = numbers.visible_gpus;
}

void add_batchai(Environment& environment, const RankNumbers& numbers,
                 const std::string& python_directory, const std::string& library) {
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
    environment["BATCHAI_NODE_NAME"] = numbers.node_name;
}

}  // namespace batchai::launcher::env

// SPDX-License-Identifier: Apache-2.0
#include "launcher/env/env.hpp"

namespace batchai::launcher::env {

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

}  // namespace batchai::launcher::env

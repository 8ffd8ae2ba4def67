// SPDX-License-Identifier: Apache-2.0
#include "launcher/env/env.hpp"

namespace batchai::launcher::env {

bool has_own_yield(const Environment& environment) {
    return environment.contains("OMPI_MCA_mpi_yield_when_idle");
}

void add_openmpi(Environment& environment, const Place& place) {
    // Open MPI 4.1 looks for a launcher before it looks for PMIx; without these it would start as
    // so many programs of one rank each. Open MPI 5 needs none of them.
    environment["OMPI_MCA_schizo"] = "ompi";
    environment["OMPI_MCA_orte_externally_bound"] = "1";
    environment.emplace("OMPI_MCA_hwloc_base_binding_policy", "none");
    // Shared memory of its own for each agent, so that two on one host do not meet, and removed
    // with the agent however the ranks end.
    if (!place.shm_directory.empty()) {
        environment.emplace("OMPI_MCA_btl_vader_backing_directory", place.shm_directory);
    }
    // "Nodes" of one machine reach each other without any network.
    if (place.shared_host && !environment.contains("OMPI_MCA_btl_tcp_if_exclude")) {
        environment.emplace("OMPI_MCA_btl_tcp_if_include", "lo");
    }
    // Open MPI 4.1 reads it as its mpirun sets it: the user's mpi_yield_when_idle still wins. Open
    // MPI 5 asks PMIx instead.
    if (place.oversubscribed) environment.emplace("OMPI_MCA_mpi_oversubscribe", "1");
    environment["OMPI_COMM_WORLD_RANK"] = std::to_string(place.rank);
    environment["OMPI_COMM_WORLD_SIZE"] = std::to_string(place.size);
    environment["OMPI_COMM_WORLD_LOCAL_RANK"] = std::to_string(place.local_rank);
    environment["OMPI_COMM_WORLD_LOCAL_SIZE"] = std::to_string(place.local_size);
    environment["OMPI_COMM_WORLD_NODE_RANK"] = std::to_string(place.local_rank);
    // Not OMPI_UNIVERSE_SIZE: where a rank runs mpirun, mpirun would refuse.
}

}  // namespace batchai::launcher::env

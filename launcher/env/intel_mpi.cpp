// SPDX-License-Identifier: Apache-2.0
#include "launcher/env/env.hpp"

namespace batchai::launcher::env {

// Intel MPI's launcher tells the library where each rank is pinned. Without this, waiting ranks
// spin. MPICH has no such setting, with its own launcher or ours.
void add_intel_mpi(Environment& environment, const Place& place) {
    if (!place.oversubscribed || environment.contains("I_MPI_THREAD_YIELD")) return;
    environment.emplace("I_MPI_WAIT_MODE", "1");
}

}  // namespace batchai::launcher::env

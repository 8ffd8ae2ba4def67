// SPDX-License-Identifier: Apache-2.0
#include "launcher/env/env.hpp"

namespace batchai::launcher::env {

// MPICH 5 finds PMI-1 and PMIx, and ends in MPI_Init unless a setting chooses one. An MPICH that
// was built for PMIx alone ignores the setting.
void add_mpich(Environment& environment, const Place& place) {
    environment["PMI_RANK"] = std::to_string(place.rank);
    environment["PMI_SIZE"] = std::to_string(place.size);
    environment.emplace("MPIR_CVAR_PMI_VERSION", "1");
}

}  // namespace batchai::launcher::env

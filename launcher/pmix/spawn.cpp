// SPDX-License-Identifier: Apache-2.0
#include "launcher/pmix/upcalls.hpp"

namespace batchai::launcher::pmix {

// PMIx_Spawn and MPI_Comm_spawn. Returning an error alone is not enough: of the ranks that call it,
// only one arrives here, and the others would wait for it in their MPI library.
pmix_status_t on_spawn(const pmix_proc_t* proc, const pmix_info_t[], size_t, const pmix_app_t[],
                       size_t, pmix_spawn_cbfunc_t, void*) {
    hand_over([rank = proc->rank](Host& host) { host.spawn_refused(rank); });
    return PMIX_ERR_NOT_SUPPORTED;
}

}  // namespace batchai::launcher::pmix

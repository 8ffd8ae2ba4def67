// SPDX-License-Identifier: Apache-2.0
#include "launcher/pmix/upcalls.hpp"

namespace batchai::launcher::pmix {

// PMIx_Abort and MPI_Abort. Whatever procs contains, the whole job ends, because its ranks depend
// on each other.
pmix_status_t on_abort(const pmix_proc_t* proc, void*, int status, const char message[],
                       pmix_proc_t[], size_t, pmix_op_cbfunc_t function, void* cbdata) {
    hand_over([rank = proc->rank, status, text = std::string(message == nullptr ? "" : message),
               answer = OpAnswer{function, cbdata}](Host& host) mutable {
        host.aborted(rank, status, std::move(text));
        complete(answer, PMIX_SUCCESS);
    });
    return PMIX_SUCCESS;
}

}  // namespace batchai::launcher::pmix

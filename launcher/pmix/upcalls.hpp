// SPDX-License-Identifier: Apache-2.0
//
// The functions that the PMIx library calls, one family per file. They run on the library's thread:
// each copies what it needs, posts it to the box and returns. PMIX_SUCCESS promises that the answer
// is called; PMIX_OPERATION_SUCCEEDED that it never is.
#pragma once

#include <pmix_server.h>

#include <string>

#include "launcher/pmix/box.hpp"
#include "launcher/pmix/host.hpp"

namespace batchai::launcher::pmix {

// Where upcalls go. The library hands none of our pointers back to most of them, hence one per
// process, set by Server::start before the first upcall.
struct Target {
    Box* box = nullptr;
    Host* host = nullptr;
};
Target& target();

// Posts job(host) to the loop.
template <class Job>
void hand_over(Job job) {
    target().box->post([job = std::move(job)]() mutable { job(*target().host); });
}

// fence.cpp
pmix_status_t on_fence(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                       size_t ninfo, char* data, size_t ndata, pmix_modex_cbfunc_t function,
                       void* cbdata);
// dmodex.cpp
pmix_status_t on_modex(const pmix_proc_t* proc, const pmix_info_t info[], size_t ninfo,
                       pmix_modex_cbfunc_t function, void* cbdata);
// publish.cpp
pmix_status_t on_publish(const pmix_proc_t* proc, const pmix_info_t info[], size_t ninfo,
                         pmix_op_cbfunc_t function, void* cbdata);
pmix_status_t on_lookup(const pmix_proc_t* proc, char** keys, const pmix_info_t info[],
                        size_t ninfo, pmix_lookup_cbfunc_t function, void* cbdata);
pmix_status_t on_unpublish(const pmix_proc_t* proc, char** keys, const pmix_info_t info[],
                           size_t ninfo, pmix_op_cbfunc_t function, void* cbdata);
// abort.cpp
pmix_status_t on_abort(const pmix_proc_t* proc, void* object, int status, const char message[],
                       pmix_proc_t procs[], size_t nprocs, pmix_op_cbfunc_t function, void* cbdata);

}  // namespace batchai::launcher::pmix

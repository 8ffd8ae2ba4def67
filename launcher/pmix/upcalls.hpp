// SPDX-License-Identifier: Apache-2.0
//
// The functions that the PMIx library calls, one family per file. They run on the library's thread:
// each copies its arguments, posts a job to the box and returns. PMIX_SUCCESS means that the answer
// will be called, PMIX_OPERATION_SUCCEEDED that it will not.
#pragma once

#include <pmix_server.h>

#include <string>

#include "launcher/pmix/box.hpp"
#include "launcher/pmix/host.hpp"

namespace batchai::launcher::pmix {

// The receiver of the upcalls. The library passes no pointer of ours to most of them. So there is
// one per process, which Server::start sets before the first upcall.
struct Target {
    Box* box = nullptr;
    Host* host = nullptr;
    std::string nspace;  // the job's; set before any rank starts
};
Target& target();

// Posts the call job(host) to the loop.
template <class Job>
void hand_over(Job job) {
    target().box->post([job = std::move(job)]() mutable { job(*target().host); });
}

// fence.cpp
pmix_status_t on_fence(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                       size_t ninfo, char* data, size_t ndata, pmix_modex_cbfunc_t function,
                       void* cbdata);
// group.cpp
pmix_status_t on_group(pmix_group_operation_t operation, char* group, const pmix_proc_t procs[],
                       size_t nprocs, const pmix_info_t info[], size_t ninfo,
                       pmix_info_cbfunc_t function, void* cbdata);
pmix_status_t on_connect(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                         size_t ninfo, pmix_op_cbfunc_t function, void* cbdata);
pmix_status_t on_disconnect(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                            size_t ninfo, pmix_op_cbfunc_t function, void* cbdata);
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
// event.cpp
pmix_status_t on_notify(pmix_status_t code, const pmix_proc_t* source, pmix_data_range_t range,
                        pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t function, void* cbdata);
// log.cpp
void on_log(const pmix_proc_t* client, const pmix_info_t data[], size_t ndata,
            const pmix_info_t directives[], size_t ndirs, pmix_op_cbfunc_t function, void* cbdata);
// query.cpp
pmix_status_t on_query(pmix_proc_t* proc, pmix_query_t queries[], size_t nqueries,
                       pmix_info_cbfunc_t function, void* cbdata);
// control.cpp
pmix_status_t on_control(const pmix_proc_t* requestor, const pmix_proc_t targets[], size_t ntargets,
                         const pmix_info_t directives[], size_t ndirs, pmix_info_cbfunc_t function,
                         void* cbdata);
// spawn.cpp
pmix_status_t on_spawn(const pmix_proc_t* proc, const pmix_info_t job[], size_t njob,
                       const pmix_app_t programs[], size_t nprograms, pmix_spawn_cbfunc_t function,
                       void* cbdata);
// abort.cpp
pmix_status_t on_abort(const pmix_proc_t* proc, void* object, int status, const char message[],
                       pmix_proc_t procs[], size_t nprocs, pmix_op_cbfunc_t function, void* cbdata);

}  // namespace batchai::launcher::pmix

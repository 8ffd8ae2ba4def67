// SPDX-License-Identifier: Apache-2.0
//
// The functions that the PMIx library calls, one family per file. They run on the library's thread:
// each copies its arguments, posts a job to the box and returns. PMIX_SUCCESS means that the answer
// will be called, PMIX_OPERATION_SUCCEEDED that it will not.
#pragma once

#include <pmix_server.h>

#include <type_traits>

#include "launcher/pmix/box.hpp"
#include "launcher/pmix/host.hpp"
#include "launcher/pmix/job_names.hpp"

namespace batchai::launcher::pmix {

// The receiver of the upcalls. The library passes no pointer of ours to most of them. So there is
// one per process, which Server::start sets before the first upcall.
struct Target {
    Box* box = nullptr;
    Host* host = nullptr;
    JobNames names;  // a job is added before any of its ranks starts
};
Target& target();
inline JobNames& names() {
    return target().names;
}

// Posts the call job(host) to the loop.
template <class Job>
void hand_over(Job job) {
    target().box->post([job = std::move(job)]() mutable { job(*target().host); });
}

// Declares a function of the type to which the library's pointer type points.
template <class Pointer>
using Upcall = std::remove_pointer_t<Pointer>;

// fence.cpp
Upcall<pmix_server_fencenb_fn_t> on_fence;
Upcall<pmix_server_grp_fn_t> on_group;
Upcall<pmix_server_connect_fn_t> on_connect;
Upcall<pmix_server_disconnect_fn_t> on_disconnect;
// data.cpp
Upcall<pmix_server_dmodex_req_fn_t> on_modex;
Upcall<pmix_server_publish_fn_t> on_publish;
Upcall<pmix_server_lookup_fn_t> on_lookup;
Upcall<pmix_server_unpublish_fn_t> on_unpublish;
Upcall<pmix_server_query_fn_t> on_query;
// spawn.cpp
Upcall<pmix_server_spawn_fn_t> on_spawn;
// orders.cpp
Upcall<pmix_server_abort_fn_t> on_abort;
Upcall<pmix_server_job_control_fn_t> on_control;
Upcall<pmix_server_notify_event_fn_t> on_notify;
Upcall<pmix_server_log_fn_t> on_log;

}  // namespace batchai::launcher::pmix

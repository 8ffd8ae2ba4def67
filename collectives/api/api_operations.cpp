// SPDX-License-Identifier: Apache-2.0
//
// The C interface to operations on host memory, and to their completion.
#include "collectives/api/api.hpp"
#include "collectives/api/api_calls.hpp"

using namespace batchai::coll;
using namespace batchai::coll::api;

namespace {

Engine::Request* engine_request(batchai_coll_request* request) {
    return reinterpret_cast<Engine::Request*>(request);
}

// Starts the call that `make` returns for these ranks.
template <class Make>
batchai_coll_status started(const char* name, batchai_coll_comm* comm,
                            batchai_coll_request** request, Make make) {
    return guarded([&] {
        if (comm == nullptr || request == nullptr) return bad_argument(name, "a null argument");
        if (!comm->maker.is_this_process()) return refuse_child(name);
        const Topology& topology = comm->communicator->topology();
        const batchai::sys::Result<CheckedCall> made = make(Ranks{topology.rank, topology.size});
        if (!made) return bad_argument(name, made.error());
        if (auto good = check_buffers(*made); !good) return bad_argument(name, good.error());
        if (auto good = check_overlap(*made); !good) return bad_argument(name, good.error());
        Engine& engine = comm->communicator->engine();
        if (engine.failure().status != BATCHAI_COLL_OK) {
            return concluded(engine, engine.failure().status);
        }
        *request = reinterpret_cast<batchai_coll_request*>(engine.start(made->call));
        return BATCHAI_COLL_OK;
    });
}

// The blocking form of an operation.
template <class Start>
batchai_coll_status blocking(Start start_async) {
    batchai_coll_request* request = nullptr;
    const batchai_coll_status status = start_async(&request);
    return status == BATCHAI_COLL_OK ? batchai_coll_wait(request) : status;
}

}  // namespace

extern "C" {

batchai_coll_status batchai_coll_allreduce_async(batchai_coll_comm* comm, const void* send,
                                                 void* receive, size_t count,
                                                 batchai_coll_type type, batchai_coll_op op,
                                                 const batchai_coll_scaling* scaling,
                                                 batchai_coll_request** request) {
    return started("allreduce", comm, request, [&](Ranks ranks) {
        return allreduce(ranks, {send, receive, type}, count, {op, scaling});
    });
}

batchai_coll_status batchai_coll_broadcast_async(batchai_coll_comm* comm, void* buffer,
                                                 size_t count, batchai_coll_type type, int root,
                                                 batchai_coll_request** request) {
    return started("broadcast", comm, request,
                   [&](Ranks ranks) { return broadcast(ranks, buffer, type, count, root); });
}

batchai_coll_status batchai_coll_allgather_async(batchai_coll_comm* comm, const void* send,
                                                 void* receive, size_t count,
                                                 batchai_coll_type type,
                                                 batchai_coll_request** request) {
    return started("allgather", comm, request, [&](Ranks ranks) {
        return allgather(ranks, {send, receive, type}, count);
    });
}

batchai_coll_status batchai_coll_allgatherv_async(batchai_coll_comm* comm, const void* send,
                                                  void* receive, const size_t* counts,
                                                  batchai_coll_type type,
                                                  batchai_coll_request** request) {
    return started("allgatherv", comm, request, [&](Ranks ranks) {
        return allgatherv(ranks, {send, receive, type}, counts);
    });
}

batchai_coll_status batchai_coll_reduce_scatter_async(batchai_coll_comm* comm, const void* send,
                                                      void* receive, const size_t* counts,
                                                      batchai_coll_type type, batchai_coll_op op,
                                                      const batchai_coll_scaling* scaling,
                                                      batchai_coll_request** request) {
    return started("reduce_scatter", comm, request, [&](Ranks ranks) {
        return reduce_scatter(ranks, {send, receive, type}, counts, {op, scaling});
    });
}

batchai_coll_status batchai_coll_alltoall_async(batchai_coll_comm* comm, const void* send,
                                                void* receive, size_t count, batchai_coll_type type,
                                                batchai_coll_request** request) {
    return started("alltoall", comm, request, [&](Ranks ranks) {
        return alltoall(ranks, {send, receive, type}, count);
    });
}

batchai_coll_status batchai_coll_alltoallv_async(batchai_coll_comm* comm, const void* send,
                                                 const size_t* send_counts, void* receive,
                                                 const size_t* receive_counts,
                                                 batchai_coll_type type,
                                                 batchai_coll_request** request) {
    return started("alltoallv", comm, request, [&](Ranks ranks) {
        return alltoallv(ranks, {send, receive, type}, send_counts, receive_counts);
    });
}

batchai_coll_status batchai_coll_barrier_async(batchai_coll_comm* comm,
                                               batchai_coll_request** request) {
    return started("barrier", comm, request,
                   [](Ranks) { return batchai::sys::Result<CheckedCall>(CheckedCall{}); });
}

batchai_coll_status batchai_coll_test(batchai_coll_request* request) {
    return guarded([&] {
        if (request == nullptr) return bad_argument("test", "request is null");
        Engine& engine = *engine_request(request)->engine;
        return concluded(engine, engine.test(engine_request(request)));
    });
}

batchai_coll_status batchai_coll_wait(batchai_coll_request* request) {
    return guarded([&] {
        if (request == nullptr) return bad_argument("wait", "request is null");
        Engine& engine = *engine_request(request)->engine;
        return concluded(engine, engine.wait(engine_request(request)));
    });
}

batchai_coll_status batchai_coll_allreduce(batchai_coll_comm* comm, const void* send, void* receive,
                                           size_t count, batchai_coll_type type, batchai_coll_op op,
                                           const batchai_coll_scaling* scaling) {
    return blocking([&](batchai_coll_request** request) {
        return batchai_coll_allreduce_async(comm, send, receive, count, type, op, scaling, request);
    });
}

batchai_coll_status batchai_coll_broadcast(batchai_coll_comm* comm, void* buffer, size_t count,
                                           batchai_coll_type type, int root) {
    return blocking([&](batchai_coll_request** request) {
        return batchai_coll_broadcast_async(comm, buffer, count, type, root, request);
    });
}

batchai_coll_status batchai_coll_allgather(batchai_coll_comm* comm, const void* send, void* receive,
                                           size_t count, batchai_coll_type type) {
    return blocking([&](batchai_coll_request** request) {
        return batchai_coll_allgather_async(comm, send, receive, count, type, request);
    });
}

batchai_coll_status batchai_coll_allgatherv(batchai_coll_comm* comm, const void* send,
                                            void* receive, const size_t* counts,
                                            batchai_coll_type type) {
    return blocking([&](batchai_coll_request** request) {
        return batchai_coll_allgatherv_async(comm, send, receive, counts, type, request);
    });
}

batchai_coll_status batchai_coll_reduce_scatter(batchai_coll_comm* comm, const void* send,
                                                void* receive, const size_t* counts,
                                                batchai_coll_type type, batchai_coll_op op,
                                                const batchai_coll_scaling* scaling) {
    return blocking([&](batchai_coll_request** request) {
        return batchai_coll_reduce_scatter_async(comm, send, receive, counts, type, op, scaling,
                                                 request);
    });
}

batchai_coll_status batchai_coll_alltoall(batchai_coll_comm* comm, const void* send, void* receive,
                                          size_t count, batchai_coll_type type) {
    return blocking([&](batchai_coll_request** request) {
        return batchai_coll_alltoall_async(comm, send, receive, count, type, request);
    });
}

batchai_coll_status batchai_coll_alltoallv(batchai_coll_comm* comm, const void* send,
                                           const size_t* send_counts, void* receive,
                                           const size_t* receive_counts, batchai_coll_type type) {
    return blocking([&](batchai_coll_request** request) {
        return batchai_coll_alltoallv_async(comm, send, send_counts, receive, receive_counts, type,
                                            request);
    });
}

batchai_coll_status batchai_coll_barrier(batchai_coll_comm* comm) {
    return blocking(
        [&](batchai_coll_request** request) { return batchai_coll_barrier_async(comm, request); });
}

}  // extern "C"

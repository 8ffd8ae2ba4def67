// SPDX-License-Identifier: Apache-2.0
//
// The C interface's operations on one buffer of all ranks' lengths, and how they end.
#include <fmt/format.h>

#include "collectives/api/api.hpp"

using namespace batchai::coll;
using namespace batchai::coll::api;

namespace {

Engine::Request* engine_request(batchai_coll_request* request) {
    return reinterpret_cast<Engine::Request*>(request);
}

batchai_coll_status start_reduction(const char* name, Kind kind, int root, batchai_coll_comm* comm,
                                    const void* send, void* receive, std::size_t count,
                                    batchai_coll_type type, batchai_coll_op op,
                                    const batchai_coll_scaling* scaling,
                                    batchai_coll_request** request) {
    if (comm == nullptr || request == nullptr) return bad_argument(name, "a null argument");
    if (auto good = check_type(type); !good) return bad_argument(name, good.error());
    const Topology& topology = comm->communicator->topology();
    if (auto good = check_root(root, topology.size); !good) return bad_argument(name, good.error());
    Signature signature = signature_of(kind, count, type);
    signature.root = root;
    if (auto good = set_reduction(signature, op, scaling); !good)
        return bad_argument(name, good.error());
    if (auto good = check_count(count, type); !good) return bad_argument(name, good.error());
    const bool receives = kind != Kind::reduce || root == topology.rank;
    if (count > 0 && (send == nullptr || (receives && receive == nullptr))) {
        return bad_argument(name, "a null buffer");
    }
    const std::size_t bytes = bytes_of(signature);
    if (receives && send != receive && overlap(send, bytes, receive, bytes)) {
        return bad_argument(name, "send and receive overlap without being the same");
    }
    return start(comm,
                 {signature, static_cast<const std::byte*>(send), static_cast<std::byte*>(receive)},
                 request);
}

}  // namespace

extern "C" {

batchai_coll_status batchai_coll_allreduce_async(batchai_coll_comm* comm, const void* send,
                                                 void* receive, size_t count,
                                                 batchai_coll_type type, batchai_coll_op op,
                                                 const batchai_coll_scaling* scaling,
                                                 batchai_coll_request** request) {
    return guarded([&] {
        return start_reduction("allreduce", Kind::allreduce, 0, comm, send, receive, count, type,
                               op, scaling, request);
    });
}

batchai_coll_status batchai_coll_reduce_async(batchai_coll_comm* comm, const void* send,
                                              void* receive, size_t count, batchai_coll_type type,
                                              batchai_coll_op op,
                                              const batchai_coll_scaling* scaling, int root,
                                              batchai_coll_request** request) {
    return guarded([&] {
        return start_reduction("reduce", Kind::reduce, root, comm, send, receive, count, type, op,
                               scaling, request);
    });
}

batchai_coll_status batchai_coll_broadcast_async(batchai_coll_comm* comm, void* buffer,
                                                 size_t count, batchai_coll_type type, int root,
                                                 batchai_coll_request** request) {
    return guarded([&] {
        constexpr const char* kName = "broadcast";
        if (comm == nullptr || request == nullptr) return bad_argument(kName, "a null argument");
        if (auto good = check_type(type); !good) return bad_argument(kName, good.error());
        if (auto good = check_root(root, comm->communicator->topology().size); !good)
            return bad_argument(kName, good.error());
        if (auto good = check_count(count, type); !good) return bad_argument(kName, good.error());
        if (count > 0 && buffer == nullptr) return bad_argument(kName, "a null buffer");
        Signature signature = signature_of(Kind::broadcast, count, type);
        signature.root = root;
        auto* data = static_cast<std::byte*>(buffer);
        return start(comm, {signature, data, data}, request);
    });
}

batchai_coll_status batchai_coll_allgather_async(batchai_coll_comm* comm, const void* send,
                                                 void* receive, size_t count,
                                                 batchai_coll_type type,
                                                 batchai_coll_request** request) {
    return guarded([&] {
        constexpr const char* kName = "allgather";
        if (comm == nullptr || request == nullptr) return bad_argument(kName, "a null argument");
        if (auto good = check_type(type); !good) return bad_argument(kName, good.error());
        const Topology& topology = comm->communicator->topology();
        if (auto good = check_count(count, type, topology.size); !good)
            return bad_argument(kName, good.error());
        if (count > 0 && (send == nullptr || receive == nullptr)) {
            return bad_argument(kName, "a null buffer");
        }
        const Signature signature = signature_of(Kind::allgather, count, type);
        const std::size_t bytes = bytes_of(signature);
        auto* to = static_cast<std::byte*>(receive);
        const bool in_place = send == to + static_cast<std::size_t>(topology.rank) * bytes;
        if (!in_place &&
            overlap(send, bytes, receive, bytes * static_cast<std::size_t>(topology.size))) {
            return bad_argument(kName,
                                "send overlaps receive without being this rank's block of it");
        }
        return start(comm, {signature, static_cast<const std::byte*>(send), to}, request);
    });
}

batchai_coll_status batchai_coll_barrier_async(batchai_coll_comm* comm,
                                               batchai_coll_request** request) {
    return guarded([&] {
        if (comm == nullptr || request == nullptr)
            return bad_argument("barrier", "a null argument");
        return start(comm, {}, request);
    });
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

batchai_coll_status batchai_coll_reduce(batchai_coll_comm* comm, const void* send, void* receive,
                                        size_t count, batchai_coll_type type, batchai_coll_op op,
                                        const batchai_coll_scaling* scaling, int root) {
    return blocking([&](batchai_coll_request** request) {
        return batchai_coll_reduce_async(comm, send, receive, count, type, op, scaling, root,
                                         request);
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

batchai_coll_status batchai_coll_barrier(batchai_coll_comm* comm) {
    return blocking(
        [&](batchai_coll_request** request) { return batchai_coll_barrier_async(comm, request); });
}

}  // extern "C"

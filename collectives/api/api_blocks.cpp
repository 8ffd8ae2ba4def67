// SPDX-License-Identifier: Apache-2.0
//
// The C interface's operations on a block for each rank, of equal or different lengths.
#include <fmt/format.h>

#include <numeric>

#include "collectives/api/api.hpp"

using namespace batchai::coll;
using namespace batchai::coll::api;

namespace {

struct Buffers {
    const void* send;
    std::size_t sent;  // elements
    void* receive;
    std::size_t received;
};

// What is wrong with them; null: nothing.
const char* wrong(const Buffers& buffers, batchai_coll_type type) {
    const std::size_t element = type_size(static_cast<std::uint8_t>(type));
    if ((buffers.sent > 0 && buffers.send == nullptr) ||
        (buffers.received > 0 && buffers.receive == nullptr)) {
        return "a null buffer";
    }
    if (overlap(buffers.send, buffers.sent * element, buffers.receive,
                buffers.received * element)) {
        return "send and receive overlap";
    }
    return nullptr;
}

}  // namespace

extern "C" {

batchai_coll_status batchai_coll_allgatherv_async(batchai_coll_comm* comm, const void* send,
                                                  void* receive, const size_t* counts,
                                                  batchai_coll_type type,
                                                  batchai_coll_request** request) {
    return guarded([&] {
        constexpr const char* kName = "allgatherv";
        if (comm == nullptr || request == nullptr || counts == nullptr) {
            return bad_argument(kName, "a null argument");
        }
        if (!is_type(type)) {
            return bad_argument(kName, fmt::format("no type {}", static_cast<int>(type)));
        }
        const Topology& topology = comm->communicator->topology();
        const std::span blocks(counts, static_cast<std::size_t>(topology.size));
        Buffers buffers{send, counts[topology.rank], receive, 0};
        if (!sum_of(blocks, type, &buffers.received)) {
            return bad_argument(kName, "the counts are too large");
        }
        Signature signature = signature_of(Kind::allgather, buffers.received, type);
        signature.layout = layout_of(blocks);
        const std::size_t before = std::accumulate(counts, counts + topology.rank, std::size_t{0}) *
                                   type_size(signature.type);
        const bool in_place = send != nullptr && send == static_cast<char*>(receive) + before;
        if (const char* what = in_place ? nullptr : wrong(buffers, type)) {
            return bad_argument(kName, what);
        }
        return start(comm,
                     {signature, static_cast<const std::byte*>(send),
                      static_cast<std::byte*>(receive), blocks},
                     request);
    });
}

batchai_coll_status batchai_coll_reduce_scatter_async(batchai_coll_comm* comm, const void* send,
                                                      void* receive, const size_t* counts,
                                                      batchai_coll_type type, batchai_coll_op op,
                                                      const batchai_coll_scaling* scaling,
                                                      batchai_coll_request** request) {
    return guarded([&] {
        constexpr const char* kName = "reduce_scatter";
        if (comm == nullptr || request == nullptr || counts == nullptr) {
            return bad_argument(kName, "a null argument");
        }
        if (!is_type(type)) {
            return bad_argument(kName, fmt::format("no type {}", static_cast<int>(type)));
        }
        const Topology& topology = comm->communicator->topology();
        const std::span blocks(counts, static_cast<std::size_t>(topology.size));
        Buffers buffers{send, 0, receive, counts[topology.rank]};
        if (!sum_of(blocks, type, &buffers.sent)) {
            return bad_argument(kName, "the counts are too large");
        }
        if (const char* what = wrong(buffers, type)) return bad_argument(kName, what);
        Signature signature = signature_of(Kind::reduce_scatter, buffers.sent, type);
        signature.layout = layout_of(blocks);
        if (const std::string what = set_reduction(signature, op, scaling); !what.empty()) {
            return bad_argument(kName, what);
        }
        return start(comm,
                     {signature, static_cast<const std::byte*>(send),
                      static_cast<std::byte*>(receive), blocks},
                     request);
    });
}

batchai_coll_status batchai_coll_alltoall_async(batchai_coll_comm* comm, const void* send,
                                                void* receive, size_t count, batchai_coll_type type,
                                                batchai_coll_request** request) {
    return guarded([&] {
        constexpr const char* kName = "alltoall";
        if (comm == nullptr || request == nullptr) return bad_argument(kName, "a null argument");
        if (!is_type(type)) {
            return bad_argument(kName, fmt::format("no type {}", static_cast<int>(type)));
        }
        const int size = comm->communicator->topology().size;
        if (!fits(count, type, size)) return bad_argument(kName, "the count is too large");
        const std::size_t all = count * static_cast<std::size_t>(size);
        if (const char* what = wrong({send, all, receive, all}, type)) {
            return bad_argument(kName, what);
        }
        return start(comm,
                     {signature_of(Kind::alltoall, count, type),
                      static_cast<const std::byte*>(send), static_cast<std::byte*>(receive)},
                     request);
    });
}

batchai_coll_status batchai_coll_alltoallv_async(batchai_coll_comm* comm, const void* send,
                                                 const size_t* send_counts, void* receive,
                                                 const size_t* receive_counts,
                                                 batchai_coll_type type,
                                                 batchai_coll_request** request) {
    return guarded([&] {
        constexpr const char* kName = "alltoallv";
        if (comm == nullptr || request == nullptr || send_counts == nullptr ||
            receive_counts == nullptr) {
            return bad_argument(kName, "a null argument");
        }
        if (!is_type(type)) {
            return bad_argument(kName, fmt::format("no type {}", static_cast<int>(type)));
        }
        const Topology& topology = comm->communicator->topology();
        const auto size = static_cast<std::size_t>(topology.size);
        const std::span sent(send_counts, size), received(receive_counts, size);
        Buffers buffers{send, 0, receive, 0};
        if (!sum_of(sent, type, &buffers.sent) || !sum_of(received, type, &buffers.received)) {
            return bad_argument(kName, "the counts are too large");
        }
        if (sent[topology.rank] != received[topology.rank]) {
            return bad_argument(kName, "this rank sends itself another count than it receives");
        }
        if (const char* what = wrong(buffers, type)) return bad_argument(kName, what);
        return start(comm,
                     {signature_of(Kind::alltoallv, 0, type), static_cast<const std::byte*>(send),
                      static_cast<std::byte*>(receive), sent, received},
                     request);
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

}  // extern "C"

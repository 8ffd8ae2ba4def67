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

batchai::sys::Result<void> check(const Buffers& buffers, batchai_coll_type type) {
    const std::size_t element = type_size(static_cast<std::uint8_t>(type));
    if ((buffers.sent > 0 && buffers.send == nullptr) ||
        (buffers.received > 0 && buffers.receive == nullptr)) {
        return batchai::sys::Error{"a null buffer"};
    }
    if (overlap(buffers.send, buffers.sent * element, buffers.receive,
                buffers.received * element)) {
        return batchai::sys::Error{"send and receive overlap"};
    }
    return {};
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
        if (auto good = check_type(type); !good) return bad_argument(kName, good.error());
        const Topology& topology = comm->communicator->topology();
        const std::span blocks(counts, static_cast<std::size_t>(topology.size));
        const auto sum = sum_of(blocks, type);
        if (!sum) return bad_argument(kName, sum.error());
        const Buffers buffers{send, counts[topology.rank], receive, *sum};
        Signature signature = signature_of(Kind::allgather, buffers.received, type);
        signature.layout = layout_of(blocks);
        const std::size_t before = std::accumulate(counts, counts + topology.rank, std::size_t{0}) *
                                   type_size(signature.type);
        const bool in_place = send != nullptr && send == static_cast<char*>(receive) + before;
        if (!in_place) {
            if (auto good = check(buffers, type); !good) return bad_argument(kName, good.error());
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
        if (auto good = check_type(type); !good) return bad_argument(kName, good.error());
        const Topology& topology = comm->communicator->topology();
        const std::span blocks(counts, static_cast<std::size_t>(topology.size));
        const auto sum = sum_of(blocks, type);
        if (!sum) return bad_argument(kName, sum.error());
        const Buffers buffers{send, *sum, receive, counts[topology.rank]};
        if (auto good = check(buffers, type); !good) return bad_argument(kName, good.error());
        Signature signature = signature_of(Kind::reduce_scatter, buffers.sent, type);
        signature.layout = layout_of(blocks);
        if (auto good = set_reduction(signature, op, scaling); !good)
            return bad_argument(kName, good.error());
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
        if (auto good = check_type(type); !good) return bad_argument(kName, good.error());
        const int size = comm->communicator->topology().size;
        if (auto good = check_count(count, type, size); !good)
            return bad_argument(kName, good.error());
        const std::size_t all = count * static_cast<std::size_t>(size);
        if (auto good = check({send, all, receive, all}, type); !good) {
            return bad_argument(kName, good.error());
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
        if (auto good = check_type(type); !good) return bad_argument(kName, good.error());
        const Topology& topology = comm->communicator->topology();
        const auto size = static_cast<std::size_t>(topology.size);
        const std::span sent(send_counts, size), received(receive_counts, size);
        const auto sent_sum = sum_of(sent, type), received_sum = sum_of(received, type);
        if (!sent_sum) return bad_argument(kName, sent_sum.error());
        if (!received_sum) return bad_argument(kName, received_sum.error());
        const Buffers buffers{send, *sent_sum, receive, *received_sum};
        if (sent[topology.rank] != received[topology.rank]) {
            return bad_argument(kName, "this rank sends itself another count than it receives");
        }
        if (auto good = check(buffers, type); !good) return bad_argument(kName, good.error());
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

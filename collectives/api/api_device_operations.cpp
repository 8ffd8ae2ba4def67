// SPDX-License-Identifier: Apache-2.0
//
// The C interface's operations on GPU memory.
#include <fmt/format.h>

#include <numeric>

#include "collectives/api/api_device.hpp"

using namespace batchai::coll;
using namespace batchai::coll::api;

namespace {

DeviceCall device_call(Kind kind, const void* send, void* receive, std::size_t count,
                       batchai_coll_type type, void* stream) {
    DeviceCall call;
    call.send = static_cast<const std::byte*>(send);
    call.receive = static_cast<std::byte*>(receive);
    call.count = count;
    call.type = type;
    call.stream = static_cast<Device::Stream>(stream);
    call.kind = kind;
    return call;
}

// Gives a call that reduces its operation and factors.
batchai::sys::Result<void> set_device_reduction(DeviceCall& call, batchai_coll_op op,
                                                const batchai_coll_scaling* scaling) {
    Signature signature = signature_of(call.kind, call.count, call.type);
    if (auto good = set_reduction(signature, op, scaling); !good) return good;
    call.op = op;
    call.before = signature.before;
    call.after = signature.after;
    return {};
}

// Gives a call blocks of different lengths.
batchai::sys::Result<void> set_device_counts(DeviceCall& call,
                                             std::span<const std::size_t> counts) {
    if (auto good = check_type(call.type); !good) return good;
    const auto sum = sum_of(counts, call.type);
    if (!sum) return sum.error();
    call.count = *sum;
    call.counts = counts;
    call.layout = layout_of(counts);
    return {};
}

// The device's ranks and this one; the caller has seen to it that there is a device.
std::size_t ranks_of(const batchai_coll_device* device) {
    return static_cast<std::size_t>(device->communicator->ranks());
}
std::size_t rank_of(const batchai_coll_device* device) {
    return static_cast<std::size_t>(device->communicator->rank());
}

}  // namespace

extern "C" {

batchai_coll_status batchai_coll_device_allreduce_async(
    batchai_coll_device* device, const void* send, void* receive, size_t count,
    batchai_coll_type type, batchai_coll_op op, const batchai_coll_scaling* scaling, void* stream,
    batchai_coll_device_request** request) {
    return guarded([&] {
        constexpr const char* kName = "device_allreduce";
        if (device == nullptr || request == nullptr) return bad_argument(kName, "a null argument");
        DeviceCall call = device_call(Kind::allreduce, send, receive, count, type, stream);
        if (auto good = set_device_reduction(call, op, scaling); !good) {
            return bad_argument(kName, good.error());
        }
        return start_on_device(kName, device, call, {count, count, 0}, request);
    });
}

batchai_coll_status batchai_coll_device_reduce_async(batchai_coll_device* device, const void* send,
                                                     void* receive, size_t count,
                                                     batchai_coll_type type, batchai_coll_op op,
                                                     const batchai_coll_scaling* scaling, int root,
                                                     void* stream,
                                                     batchai_coll_device_request** request) {
    return guarded([&] {
        constexpr const char* kName = "device_reduce";
        if (device == nullptr || request == nullptr) return bad_argument(kName, "a null argument");
        DeviceCall call = device_call(Kind::reduce, send, receive, count, type, stream);
        call.root = root;
        if (auto good = set_device_reduction(call, op, scaling); !good) {
            return bad_argument(kName, good.error());
        }
        const bool gets = device->communicator->rank() == root;
        return start_on_device(kName, device, call, {count, gets ? count : 0, 0}, request);
    });
}

batchai_coll_status batchai_coll_device_reduce_scatter_async(
    batchai_coll_device* device, const void* send, void* receive, const size_t* counts,
    batchai_coll_type type, batchai_coll_op op, const batchai_coll_scaling* scaling, void* stream,
    batchai_coll_device_request** request) {
    return guarded([&] {
        constexpr const char* kName = "device_reduce_scatter";
        if (device == nullptr || request == nullptr || counts == nullptr) {
            return bad_argument(kName, "a null argument");
        }
        DeviceCall call = device_call(Kind::reduce_scatter, send, receive, 0, type, stream);
        auto good = set_device_counts(call, {counts, ranks_of(device)});
        if (good) good = set_device_reduction(call, op, scaling);
        if (!good) return bad_argument(kName, good.error());
        return start_on_device(kName, device, call, {call.count, counts[rank_of(device)]}, request);
    });
}

batchai_coll_status batchai_coll_device_broadcast_async(batchai_coll_device* device, void* buffer,
                                                        size_t count, batchai_coll_type type,
                                                        int root, void* stream,
                                                        batchai_coll_device_request** request) {
    return guarded([&] {
        constexpr const char* kName = "device_broadcast";
        if (device == nullptr || request == nullptr) return bad_argument(kName, "a null argument");
        DeviceCall call = device_call(Kind::broadcast, buffer, buffer, count, type, stream);
        call.root = root;
        return start_on_device(kName, device, call, {count, count, 0}, request);
    });
}

batchai_coll_status batchai_coll_device_allgather_async(batchai_coll_device* device,
                                                        const void* send, void* receive,
                                                        size_t count, batchai_coll_type type,
                                                        void* stream,
                                                        batchai_coll_device_request** request) {
    return guarded([&] {
        constexpr const char* kName = "device_allgather";
        if (device == nullptr || request == nullptr) return bad_argument(kName, "a null argument");
        const DeviceCall call = device_call(Kind::allgather, send, receive, count, type, stream);
        const DeviceBuffers buffers{count, ranks_of(device) * count, rank_of(device) * count};
        return start_on_device(kName, device, call, buffers, request);
    });
}

batchai_coll_status batchai_coll_device_allgatherv_async(batchai_coll_device* device,
                                                         const void* send, void* receive,
                                                         const size_t* counts,
                                                         batchai_coll_type type, void* stream,
                                                         batchai_coll_device_request** request) {
    return guarded([&] {
        constexpr const char* kName = "device_allgatherv";
        if (device == nullptr || request == nullptr || counts == nullptr) {
            return bad_argument(kName, "a null argument");
        }
        DeviceCall call = device_call(Kind::allgather, send, receive, 0, type, stream);
        if (auto good = set_device_counts(call, {counts, ranks_of(device)}); !good) {
            return bad_argument(kName, good.error());
        }
        const std::size_t* own = counts + rank_of(device);
        const DeviceBuffers buffers{*own, call.count, std::accumulate(counts, own, std::size_t{0})};
        return start_on_device(kName, device, call, buffers, request);
    });
}

batchai_coll_status batchai_coll_device_alltoall_async(batchai_coll_device* device,
                                                       const void* send, void* receive,
                                                       size_t count, batchai_coll_type type,
                                                       void* stream,
                                                       batchai_coll_device_request** request) {
    return guarded([&] {
        constexpr const char* kName = "device_alltoall";
        if (device == nullptr || request == nullptr) return bad_argument(kName, "a null argument");
        const DeviceCall call = device_call(Kind::alltoall, send, receive, count, type, stream);
        const std::size_t all = ranks_of(device) * count;
        return start_on_device(kName, device, call, {all, all}, request);
    });
}

batchai_coll_status batchai_coll_device_alltoallv_async(batchai_coll_device* device,
                                                        const void* send, const size_t* send_counts,
                                                        void* receive, const size_t* receive_counts,
                                                        batchai_coll_type type, void* stream,
                                                        batchai_coll_device_request** request) {
    return guarded([&] {
        constexpr const char* kName = "device_alltoallv";
        if (device == nullptr || request == nullptr || send_counts == nullptr ||
            receive_counts == nullptr) {
            return bad_argument(kName, "a null argument");
        }
        DeviceCall call = device_call(Kind::alltoallv, send, receive, 0, type, stream);
        const std::size_t ranks = ranks_of(device), rank = rank_of(device);
        DeviceBuffers buffers;
        auto good = set_device_counts(call, {receive_counts, ranks});
        buffers.got = call.count;
        if (good) good = set_device_counts(call, {send_counts, ranks});
        buffers.given = call.count;
        if (!good) return bad_argument(kName, good.error());
        if (send_counts[rank] != receive_counts[rank]) {
            return bad_argument(kName, "this rank sends itself another count than it receives");
        }
        call.receive_counts = {receive_counts, ranks};
        call.count = call.layout = 0;  // every rank has its own
        return start_on_device(kName, device, call, buffers, request);
    });
}

}  // extern "C"

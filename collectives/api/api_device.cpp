// SPDX-License-Identifier: Apache-2.0
//
// The C interface to GPU memory: support, opening and closing, operations and their completion. A
// library that was built without CUDA has these functions too; they return an error that says so.
#include <fmt/format.h>

#include "collectives/api/api.hpp"
#include "collectives/api/api_calls.hpp"
#ifdef BATCHAI_HAS_GPU
#include "collectives/device/cuda.hpp"
#include "collectives/device/nccl.hpp"
#endif

using namespace batchai::coll;
using namespace batchai::coll::api;

#ifdef BATCHAI_HAS_GPU
batchai::sys::Result<Gpu> api::open_gpu(int number, int local_rank) {
    if (number < 0) {
        const auto count = CudaContext::count();
        if (!count) return count.error();
        if (*count == 0) return batchai::sys::Error{"there is no GPU"};
        number = local_rank % *count;
    }
    const auto device = CudaDevice::create(number);
    if (!device) return device.error();
    return Gpu{*device, std::make_shared<NcclComms>(number)};
}
#else
constexpr const char* kNone = "this library was built without CUDA";

batchai::sys::Result<Gpu> api::open_gpu(int, int) {
    return batchai::sys::Error{kNone};
}
#endif

namespace {

thread_local std::string last_support;  // the answer to this thread's last query

#ifdef BATCHAI_HAS_GPU
std::string support() {
    const auto count = CudaContext::count();
    if (!count) return "off (" + count.error().message + ")";
    if (*count == 0) return "off (there is no GPU)";
    const auto nccl = nccl_version();
    return fmt::format("CUDA {}, {}", CudaDevice::version(),
                       nccl ? "NCCL " + *nccl : nccl.error().message);
}
#else
std::string support() {
    return fmt::format("off ({})", kNone);
}
#endif

DeviceCommunicator::Request* request_of(batchai_coll_device_request* request) {
    return reinterpret_cast<DeviceCommunicator::Request*>(request);
}

batchai_coll_status ended(const DeviceCommunicator& owner, batchai_coll_status status) {
    if (status == BATCHAI_COLL_OK || status == BATCHAI_COLL_IN_PROGRESS) return status;
    return fail(status, owner.failure().sentence);
}

// Checks that the device can read and write the buffers.
batchai::sys::Result<void> check(const Device& device, const CheckedCall& checked) {
    const auto type = static_cast<batchai_coll_type>(checked.call.signature.type);
    if (checked.given > 0) {
        if (auto good = device.check_buffer(checked.call.send, type); !good) return good;
    }
    if (checked.got > 0) {
        if (auto good = device.check_buffer(checked.call.receive, type); !good) return good;
    }
    return check_overlap(checked);
}

batchai_coll_status start(const char* name, DeviceCommunicator& communicator, DeviceCall call,
                          batchai_coll_device_request** request) {
    const auto captured = communicator.device().is_captured(call.stream);
    if (!captured) return bad_argument(name, captured.error());
    call.signature.captured = *captured;
    if (*captured && !communicator.can_be_captured(call)) {
        return bad_argument(
            name,
            "the stream is captured into a graph: a graph takes only an allreduce, of one rank "
            "or where NCCL connects all ranks. Call it outside of the capture");
    }
    if (*captured && communicator.has_uncaptured(call.stream)) {
        return bad_argument(
            name, "an operation that was started on the stream before its capture has not ended");
    }
    *request = reinterpret_cast<batchai_coll_device_request*>(communicator.start(call));
    return BATCHAI_COLL_OK;
}

// Starts the call that `make` returns for the device's ranks.
template <class Make>
batchai_coll_status started(const char* name, batchai_coll_device* device, void* stream,
                            batchai_coll_device_request** request, Make make) {
    return guarded([&] {
        if (device == nullptr || request == nullptr) return bad_argument(name, "a null argument");
        DeviceCommunicator& communicator = *device->communicator;
        if (communicator.failure().status != BATCHAI_COLL_OK) {
            return ended(communicator, communicator.failure().status);
        }
        const batchai::sys::Result<CheckedCall> made =
            make(Ranks{communicator.rank(), communicator.ranks()});
        if (!made) return bad_argument(name, made.error());
        if (auto good = check(communicator.device(), *made); !good) {
            return bad_argument(name, good.error());
        }
        return start(name, communicator, {made->call, static_cast<Device::Stream>(stream)},
                     request);
    });
}

}  // namespace

extern "C" {

const char* batchai_coll_gpu_support(void) {
    (void)guarded([] {
        last_support = support();
        return BATCHAI_COLL_OK;
    });
    return last_support.c_str();
}

batchai_coll_status batchai_coll_device_open(batchai_coll_comm* comm, int number,
                                             batchai_coll_device** device) {
    return guarded([&] {
        constexpr const char* kName = "device_open";
        if (comm == nullptr || device == nullptr) return bad_argument(kName, "a null argument");
        *device = nullptr;
        Communicator& communicator = *comm->communicator;
        const Engine& engine = communicator.engine();
        if (engine.failure().status != BATCHAI_COLL_OK) {
            return concluded(engine, engine.failure().status);
        }
        const int local_rank = communicator.topology().local_rank();
        auto opened = DeviceCommunicator::create(communicator, open_gpu(number, local_rank));
        if (!opened) {
            const auto status = engine.failure().status;
            return fail(status == BATCHAI_COLL_OK ? BATCHAI_COLL_ERR_SYSTEM : status,
                        fmt::format("{}: {}", kName, opened.error().message));
        }
        *device = new batchai_coll_device{std::move(*opened)};
        show_plan((*device)->communicator->plan(), communicator.topology().rank);
        return BATCHAI_COLL_OK;
    });
}

batchai_coll_status batchai_coll_device_close(batchai_coll_device* device) {
    return guarded([&] {
        constexpr const char* kName = "device_close";
        if (device == nullptr) return bad_argument(kName, "a null argument");
        DeviceCommunicator& communicator = *device->communicator;
        Failure failure = communicator.failure();
        if (failure.status == BATCHAI_COLL_OK && communicator.under_way() > 0) {
            return bad_argument(kName,
                                fmt::format("{} operations have not ended: wait for them first",
                                            communicator.under_way()));
        }
        if (failure.status == BATCHAI_COLL_OK && !communicator.outlasts_graphs()) {
            return bad_argument(kName,
                                "graphs still contain its operations: destroy the graphs first");
        }
        const std::unique_ptr<batchai_coll_device> closed(device);
        if (failure.status == BATCHAI_COLL_OK) failure = communicator.close();
        if (failure.status == BATCHAI_COLL_OK) return BATCHAI_COLL_OK;
        return fail(failure.status, failure.sentence);
    });
}

batchai_coll_status batchai_coll_device_allreduce_async(
    batchai_coll_device* device, const void* send, void* receive, size_t count,
    batchai_coll_type type, batchai_coll_op op, const batchai_coll_scaling* scaling, void* stream,
    batchai_coll_device_request** request) {
    return started("device_allreduce", device, stream, request, [&](Ranks ranks) {
        return allreduce(ranks, {send, receive, type}, count, {op, scaling});
    });
}

batchai_coll_status batchai_coll_device_reduce_async(batchai_coll_device* device, const void* send,
                                                     void* receive, size_t count,
                                                     batchai_coll_type type, batchai_coll_op op,
                                                     const batchai_coll_scaling* scaling, int root,
                                                     void* stream,
                                                     batchai_coll_device_request** request) {
    return started("device_reduce", device, stream, request, [&](Ranks ranks) {
        return reduce(ranks, {send, receive, type}, count, {op, scaling}, root);
    });
}

batchai_coll_status batchai_coll_device_reduce_scatter_async(
    batchai_coll_device* device, const void* send, void* receive, const size_t* counts,
    batchai_coll_type type, batchai_coll_op op, const batchai_coll_scaling* scaling, void* stream,
    batchai_coll_device_request** request) {
    return started("device_reduce_scatter", device, stream, request, [&](Ranks ranks) {
        return reduce_scatter(ranks, {send, receive, type}, counts, {op, scaling});
    });
}

batchai_coll_status batchai_coll_device_broadcast_async(batchai_coll_device* device, void* buffer,
                                                        size_t count, batchai_coll_type type,
                                                        int root, void* stream,
                                                        batchai_coll_device_request** request) {
    return started("device_broadcast", device, stream, request,
                   [&](Ranks ranks) { return broadcast(ranks, buffer, type, count, root); });
}

batchai_coll_status batchai_coll_device_allgather_async(batchai_coll_device* device,
                                                        const void* send, void* receive,
                                                        size_t count, batchai_coll_type type,
                                                        void* stream,
                                                        batchai_coll_device_request** request) {
    return started("device_allgather", device, stream, request, [&](Ranks ranks) {
        return allgather(ranks, {send, receive, type}, count);
    });
}

batchai_coll_status batchai_coll_device_allgatherv_async(batchai_coll_device* device,
                                                         const void* send, void* receive,
                                                         const size_t* counts,
                                                         batchai_coll_type type, void* stream,
                                                         batchai_coll_device_request** request) {
    return started("device_allgatherv", device, stream, request, [&](Ranks ranks) {
        return allgatherv(ranks, {send, receive, type}, counts);
    });
}

batchai_coll_status batchai_coll_device_alltoall_async(batchai_coll_device* device,
                                                       const void* send, void* receive,
                                                       size_t count, batchai_coll_type type,
                                                       void* stream,
                                                       batchai_coll_device_request** request) {
    return started("device_alltoall", device, stream, request, [&](Ranks ranks) {
        return alltoall(ranks, {send, receive, type}, count);
    });
}

batchai_coll_status batchai_coll_device_alltoallv_async(batchai_coll_device* device,
                                                        const void* send, const size_t* send_counts,
                                                        void* receive, const size_t* receive_counts,
                                                        batchai_coll_type type, void* stream,
                                                        batchai_coll_device_request** request) {
    return started("device_alltoallv", device, stream, request, [&](Ranks ranks) {
        return alltoallv(ranks, {send, receive, type}, send_counts, receive_counts);
    });
}

batchai_coll_status batchai_coll_device_test(batchai_coll_device_request* request) {
    return guarded([&] {
        if (request == nullptr) return bad_argument("device_test", "a null argument");
        DeviceCommunicator& owner = *request_of(request)->owner;
        return ended(owner, owner.test(request_of(request)));
    });
}

batchai_coll_status batchai_coll_device_wait(batchai_coll_device_request* request) {
    return guarded([&] {
        if (request == nullptr) return bad_argument("device_wait", "a null argument");
        DeviceCommunicator& owner = *request_of(request)->owner;
        return ended(owner, owner.wait(request_of(request)));
    });
}

const char* batchai_coll_device_plan(const batchai_coll_device* device) {
    return device == nullptr ? "" : device->communicator->plan().c_str();
}

}  // extern "C"

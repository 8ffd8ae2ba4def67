// SPDX-License-Identifier: Apache-2.0
//
// The C interface to GPU memory. A library that was built without CUDA has it too, and says so.
#include <fmt/format.h>

#include "collectives/api.hpp"
#include "collectives/device/device_comm.hpp"
#ifdef BATCHAI_HAS_GPU
#include "collectives/device/cuda.hpp"
#include "collectives/device/nccl.hpp"
#endif

using namespace batchai::coll;
using namespace batchai::coll::api;

struct batchai_coll_device {
    std::unique_ptr<DeviceCommunicator> communicator;
};

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
constexpr const char* kNone = "built without CUDA";

batchai::sys::Result<Gpu> api::open_gpu(int, int) {
    return batchai::sys::Error{kNone};
}
#endif

namespace {

thread_local std::string last_support;  // as it was asked for

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

// BlockCounts of a call's count, of which this rank gives and gets some.
struct BlockCounts {
    std::size_t given = 1, got = 1;
};

// Why a call cannot be; empty: it can.
std::string wrong_with(const DeviceCommunicator& communicator, const DeviceCall& call,
                       const BlockCounts& blocks) {
    if (!is_type(call.type)) return fmt::format("no type {}", static_cast<int>(call.type));
    const int ranks = communicator.ranks();
    if (!fits(call.count, call.type, ranks)) return "the count is too large";
    if (call.root < 0 || call.root >= ranks) {
        return fmt::format("no rank {} to be the root", call.root);
    }
    if (call.count == 0) return {};
    const Device& device = communicator.device();
    if (std::string wrong = device.wrong_with(call.send, call.type); !wrong.empty()) return wrong;
    if (blocks.got == 0) return {};
    if (std::string wrong = device.wrong_with(call.receive, call.type); !wrong.empty()) {
        return wrong;
    }
    const std::size_t block = call.count * type_size(static_cast<std::uint8_t>(call.type));
    // Where this rank's block is in what it gets.
    const std::size_t own =
        blocks.got > 1 ? static_cast<std::size_t>(communicator.rank()) * block : 0;
    const bool may_be_the_same = blocks.given == 1;
    if (may_be_the_same && call.send == call.receive + own) return {};
    return overlap(call.send, blocks.given * block, call.receive, blocks.got * block)
               ? "send and receive overlap"
               : "";
}

batchai_coll_status start_on_device(const char* name, batchai_coll_device* device,
                                    const DeviceCall& call, const BlockCounts& blocks,
                                    batchai_coll_device_request** request) {
    if (device == nullptr || request == nullptr) return bad_argument(name, "a null argument");
    DeviceCommunicator& communicator = *device->communicator;
    if (communicator.failure().status != BATCHAI_COLL_OK) {
        return ended(communicator, communicator.failure().status);
    }
    if (const std::string wrong = wrong_with(communicator, call, blocks); !wrong.empty()) {
        return bad_argument(name, wrong);
    }
    if (const std::string wrong = communicator.device().wrong_with(call.stream); !wrong.empty()) {
        return bad_argument(name, wrong);
    }
    *request = reinterpret_cast<batchai_coll_device_request*>(communicator.start(call));
    return BATCHAI_COLL_OK;
}

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

// The same of a call that reduces.
batchai_coll_status reduce_on_device(const char* name, batchai_coll_device* device, DeviceCall call,
                                     batchai_coll_op op, const batchai_coll_scaling* scaling,
                                     const BlockCounts& blocks,
                                     batchai_coll_device_request** request) {
    Signature signature = signature_of(call.kind, call.count, call.type);
    if (const std::string wrong = set_reduction(signature, op, scaling); !wrong.empty()) {
        return bad_argument(name, wrong);
    }
    call.op = op;
    call.before = signature.before;
    call.after = signature.after;
    return start_on_device(name, device, call, blocks, request);
}

std::size_t ranks_of(const batchai_coll_device* device) {
    return device == nullptr ? 1 : static_cast<std::size_t>(device->communicator->ranks());
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
            return bad_argument(
                kName, fmt::format("operations that have not ended: {}", communicator.under_way()));
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
    return guarded([&] {
        return reduce_on_device("device_allreduce", device,
                                device_call(Kind::allreduce, send, receive, count, type, stream),
                                op, scaling, {}, request);
    });
}

batchai_coll_status batchai_coll_device_reduce_async(batchai_coll_device* device, const void* send,
                                                     void* receive, size_t count,
                                                     batchai_coll_type type, batchai_coll_op op,
                                                     const batchai_coll_scaling* scaling, int root,
                                                     void* stream,
                                                     batchai_coll_device_request** request) {
    return guarded([&] {
        DeviceCall call = device_call(Kind::reduce, send, receive, count, type, stream);
        call.root = root;
        const bool gets = device != nullptr && device->communicator->rank() == root;
        return reduce_on_device("device_reduce", device, call, op, scaling, {1, gets ? 1u : 0u},
                                request);
    });
}

batchai_coll_status batchai_coll_device_reduce_scatter_async(
    batchai_coll_device* device, const void* send, void* receive, size_t count,
    batchai_coll_type type, batchai_coll_op op, const batchai_coll_scaling* scaling, void* stream,
    batchai_coll_device_request** request) {
    return guarded([&] {
        return reduce_on_device(
            "device_reduce_scatter", device,
            device_call(Kind::reduce_scatter, send, receive, count, type, stream), op, scaling,
            {ranks_of(device), 1}, request);
    });
}

batchai_coll_status batchai_coll_device_broadcast_async(batchai_coll_device* device, void* buffer,
                                                        size_t count, batchai_coll_type type,
                                                        int root, void* stream,
                                                        batchai_coll_device_request** request) {
    return guarded([&] {
        DeviceCall call = device_call(Kind::broadcast, buffer, buffer, count, type, stream);
        call.root = root;
        return start_on_device("device_broadcast", device, call, {}, request);
    });
}

batchai_coll_status batchai_coll_device_allgather_async(batchai_coll_device* device,
                                                        const void* send, void* receive,
                                                        size_t count, batchai_coll_type type,
                                                        void* stream,
                                                        batchai_coll_device_request** request) {
    return guarded([&] {
        return start_on_device("device_allgather", device,
                               device_call(Kind::allgather, send, receive, count, type, stream),
                               {1, ranks_of(device)}, request);
    });
}

batchai_coll_status batchai_coll_device_alltoall_async(batchai_coll_device* device,
                                                       const void* send, void* receive,
                                                       size_t count, batchai_coll_type type,
                                                       void* stream,
                                                       batchai_coll_device_request** request) {
    return guarded([&] {
        return start_on_device("device_alltoall", device,
                               device_call(Kind::alltoall, send, receive, count, type, stream),
                               {ranks_of(device), ranks_of(device)}, request);
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

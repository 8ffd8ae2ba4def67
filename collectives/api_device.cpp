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

namespace {

thread_local std::string last_support;  // as it was asked for

#ifdef BATCHAI_HAS_GPU
batchai::sys::Result<int> number_for(int local_rank) {
    const auto count = CudaContext::count();
    if (!count) return count.error();
    if (*count == 0) return batchai::sys::Error{"there is no GPU"};
    return local_rank % *count;
}

batchai::sys::Result<std::unique_ptr<DeviceCommunicator>> open_device(Communicator& comm,
                                                                      int number) {
    const auto chosen =
        number >= 0 ? batchai::sys::Result<int>(number) : number_for(comm.topology().local_rank());
    if (!chosen) return DeviceCommunicator::create(comm, chosen.error(), nullptr);
    return DeviceCommunicator::create(comm, CudaDevice::create(*chosen),
                                      std::make_unique<NcclComms>(*chosen));
}

std::string support() {
    const auto count = CudaContext::count();
    if (!count) return "off (" + count.error().message + ")";
    if (*count == 0) return "off (there is no GPU)";
    const auto nccl = nccl_version();
    return fmt::format("CUDA {}, {}", CudaDevice::version(),
                       nccl ? "NCCL " + *nccl : nccl.error().message);
}
#else
constexpr const char* kNone = "built without CUDA";

batchai::sys::Result<std::unique_ptr<DeviceCommunicator>> open_device(Communicator& comm, int) {
    return DeviceCommunicator::create(comm, batchai::sys::Error{kNone}, nullptr);
}

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

// Why memory cannot be reduced there; empty: it can.
std::string wrong_with(const DeviceCommunicator& communicator, const DeviceCall& call) {
    const Device& device = communicator.device();
    const std::size_t element = type_size(static_cast<std::uint8_t>(call.type));
    for (const std::byte* memory : {call.send, static_cast<const std::byte*>(call.receive)}) {
        if (call.count == 0) break;
        if (memory == nullptr) return "a null buffer";
        if (!device.holds(memory)) {
            return fmt::format("a buffer that is not in the memory of {}", device.name());
        }
        if (reinterpret_cast<std::uintptr_t>(memory) % element != 0) {
            return "a buffer that is not aligned to its numbers";
        }
    }
    const std::size_t bytes = call.count * element;
    if (call.send != call.receive && overlap(call.send, bytes, call.receive, bytes)) {
        return "send and receive overlap without being the same";
    }
    return {};
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
        auto opened = open_device(communicator, number);
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
        if (device == nullptr) return bad_argument("device_close", "a null argument");
        const std::unique_ptr<batchai_coll_device> closed(device);
        DeviceCommunicator& communicator = *device->communicator;
        Failure failure = communicator.failure();
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
        constexpr const char* kName = "device_allreduce";
        if (device == nullptr || request == nullptr) return bad_argument(kName, "a null argument");
        if (!is_type(type)) {
            return bad_argument(kName, fmt::format("no type {}", static_cast<int>(type)));
        }
        if (!fits(count, type, 1)) return bad_argument(kName, "the count is too large");
        Signature signature = signature_of(Kind::device_allreduce, count, type);
        if (const std::string wrong = set_reduction(signature, op, scaling); !wrong.empty()) {
            return bad_argument(kName, wrong);
        }
        DeviceCommunicator& communicator = *device->communicator;
        const DeviceCall call{static_cast<const std::byte*>(send),
                              static_cast<std::byte*>(receive),
                              count,
                              type,
                              op,
                              signature.before,
                              signature.after,
                              static_cast<Device::Stream>(stream)};
        if (communicator.failure().status != BATCHAI_COLL_OK) {
            return ended(communicator, communicator.failure().status);
        }
        if (const std::string wrong = wrong_with(communicator, call); !wrong.empty()) {
            return bad_argument(kName, wrong);
        }
        const auto captured = communicator.device().is_captured(call.stream);
        if (!captured) return bad_argument(kName, captured.error().message);
        if (*captured) return bad_argument(kName, "the stream is captured into a graph");
        *request = reinterpret_cast<batchai_coll_device_request*>(communicator.start(call));
        return BATCHAI_COLL_OK;
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

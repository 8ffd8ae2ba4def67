// SPDX-License-Identifier: Apache-2.0
//
// The C interface to GPU memory: what there is, opening and closing, and the ends of operations. A
// library that was built without CUDA has it too, and says so.
#include <fmt/format.h>

#include "collectives/api/api_device.hpp"
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

batchai::sys::Result<void> check(const DeviceCommunicator& communicator, const DeviceCall& call,
                                 const DeviceBuffers& buffers) {
    if (auto good = check_type(call.type); !good) return good;
    const int ranks = communicator.ranks();
    if (auto good = check_count(call.count, call.type, call.counts.empty() ? ranks : 1); !good) {
        return good;
    }
    if (auto good = check_root(call.root, ranks); !good) return good;
    const Device& device = communicator.device();
    if (buffers.given > 0) {
        if (auto good = device.check_buffer(call.send, call.type); !good) return good;
    }
    if (buffers.got > 0) {
        if (auto good = device.check_buffer(call.receive, call.type); !good) return good;
    }
    const std::size_t element = type_size(static_cast<std::uint8_t>(call.type));
    if (buffers.own && call.send == call.receive + *buffers.own * element) return {};
    if (!overlap(call.send, buffers.given * element, call.receive, buffers.got * element))
        return {};
    return batchai::sys::Error{"send and receive overlap"};
}

}  // namespace

batchai_coll_status api::start_on_device(const char* name, batchai_coll_device* device,
                                         DeviceCall call, const DeviceBuffers& buffers,
                                         batchai_coll_device_request** request) {
    DeviceCommunicator& communicator = *device->communicator;
    if (communicator.failure().status != BATCHAI_COLL_OK) {
        return ended(communicator, communicator.failure().status);
    }
    if (auto good = check(communicator, call, buffers); !good) {
        return bad_argument(name, good.error());
    }
    const auto captured = communicator.device().is_captured(call.stream);
    if (!captured) return bad_argument(name, captured.error());
    call.captured = *captured;
    if (call.captured && !communicator.can_be_captured(call)) {
        return bad_argument(
            name,
            "the stream is captured into a graph, which takes an allreduce of one rank, "
            "or where NCCL connects all: call it outside of the capture");
    }
    if (call.captured && communicator.has_uncaptured(call.stream)) {
        return bad_argument(
            name, "an operation of the stream that was started before its capture has not ended");
    }
    *request = reinterpret_cast<batchai_coll_device_request*>(communicator.start(call));
    return BATCHAI_COLL_OK;
}

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
        if (failure.status == BATCHAI_COLL_OK && !communicator.outlasts_graphs()) {
            return bad_argument(kName, "graphs that have its operations: destroy them first");
        }
        const std::unique_ptr<batchai_coll_device> closed(device);
        if (failure.status == BATCHAI_COLL_OK) failure = communicator.close();
        if (failure.status == BATCHAI_COLL_OK) return BATCHAI_COLL_OK;
        return fail(failure.status, failure.sentence);
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

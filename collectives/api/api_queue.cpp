// SPDX-License-Identifier: Apache-2.0
//
// The C interface's queue.
#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "collectives/api/api.hpp"
#include "collectives/api/api_calls.hpp"
#include "collectives/queue/queue.hpp"

using namespace batchai::coll;
using namespace batchai::coll::api;

namespace {

Dispatcher::Options internal(const batchai_coll_queue_options& options, int size,
                             DeviceMessages& devices) {
    const auto nanoseconds = [](double seconds) {
        return std::chrono::nanoseconds(std::llround(seconds * 1e9));
    };
    std::vector<int> numbers(static_cast<std::size_t>(size));
    std::iota(numbers.begin(), numbers.end(), 0);
    if (options.numbers != nullptr) numbers.assign(options.numbers, options.numbers + size);
    return {.fusion_bytes = options.fusion_bytes,
            .cycle = nanoseconds(options.cycle),
            .cache_capacity = options.cache_capacity,
            .tune_fusion = (options.autotune & BATCHAI_COLL_TUNE_FUSION) != 0,
            .tune_cycle = (options.autotune & BATCHAI_COLL_TUNE_CYCLE) != 0,
            .stall = nanoseconds(options.stall_warning),
            .numbers = std::move(numbers),
            .devices = &devices};
}

}  // namespace

struct batchai_coll_queue {
    batchai_coll_queue(Communicator& communicator, const batchai_coll_queue_options& options)
        : devices(
              communicator,
              [local_rank = communicator.topology().local_rank()](int number) {
                  return open_gpu(number, local_rank);
              },
              [rank = communicator.topology().rank](const std::string& plan) {
                  show_plan(plan, rank);
              },
              options.fusion_bytes),
          queue(communicator.engine(), communicator.progress(), communicator.topology(),
                internal(options, communicator.topology().size, devices)) {}

    DeviceMessages devices;
    Queue queue;
    Maker maker;
};

namespace {

Submission* submission_of(batchai_coll_ticket* ticket) {
    return reinterpret_cast<Submission*>(ticket);
}

std::string_view view(const char* text) {
    return text == nullptr ? std::string_view() : text;
}

batchai::sys::Result<void> check(const batchai_coll_queue_options& options) {
    using batchai::sys::Error;
    constexpr double kYear = 3e7;
    constexpr unsigned kMostCached = 1u << 20;
    if (!(options.cycle >= 0 && options.cycle < kYear)) {
        return Error{fmt::format("cycle: {} s is not from 0 to {:g} s", options.cycle, kYear)};
    }
    if (!(options.stall_warning >= 0 && options.stall_warning < kYear)) {
        return Error{fmt::format("stall_warning: {} s is not from 0 to {:g} s",
                                 options.stall_warning, kYear)};
    }
    constexpr int kTune = BATCHAI_COLL_TUNE_FUSION | BATCHAI_COLL_TUNE_CYCLE;
    if ((options.autotune & ~kTune) != 0)
        return Error{fmt::format("autotune: {} has an unknown bit", options.autotune)};
    if (options.cache_capacity == 0 || options.cache_capacity > kMostCached) {
        return Error{fmt::format("cache_capacity: {} is not from 1 to {}", options.cache_capacity,
                                 kMostCached)};
    }
    return {};
}

batchai::sys::Result<Part> part_of(const batchai_coll_tensor& tensor, batchai_coll_op op,
                                   const batchai_coll_scaling* scaling) {
    const auto made =
        allreduce({}, {tensor.send, tensor.receive, tensor.type}, tensor.count, {op, scaling});
    if (!made) return made.error();
    if (auto good = check_buffers(*made); !good) return good.error();
    if (auto good = check_overlap(*made); !good) return good.error();
    return Part{made->call.signature, made->call.send, made->call.receive};
}

// All tensors of an allreduce; valid until this thread's next call.
batchai::sys::Result<std::span<const Part>> parts_of(const batchai_coll_tensor* tensors,
                                                     std::size_t count, batchai_coll_op op,
                                                     const batchai_coll_scaling* scaling) {
    static thread_local std::vector<Part> parts;
    if (count == 0) return batchai::sys::Error{"no tensors"};
    if (tensors == nullptr) return batchai::sys::Error{"a null argument"};
    parts.clear();
    for (const batchai_coll_tensor& tensor : std::span(tensors, count)) {
        const auto part = part_of(tensor, op, scaling);
        if (!part) return part.error();
        parts.push_back(*part);
    }
    return std::span<const Part>(parts);
}

// Checks that the GPU can take part in the operation.
batchai::sys::Result<void> check(Device& device, std::span<const Part> parts,
                                 Device::Stream stream) {
    for (const Part& part : parts) {
        if (part.signature.count == 0) continue;
        const auto type = static_cast<batchai_coll_type>(part.signature.type);
        if (auto good = device.check_buffer(part.send, type); !good) return good;
        if (part.receive == part.send) continue;
        if (auto good = device.check_buffer(part.receive, type); !good) return good;
    }
    return device.check_stream(stream);
}

batchai_coll_status submit(const char* function, batchai_coll_queue* queue, const Order& order,
                           batchai_coll_ticket** ticket) {
    if (!queue->maker.is_this_process()) return refuse_child(function);
    Submission* submission = queue->queue.submit(order);
    if (submission == nullptr) {
        return bad_argument(
            function, fmt::format("an operation with the name {} has not ended yet", order.name));
    }
    *ticket = reinterpret_cast<batchai_coll_ticket*>(submission);
    return BATCHAI_COLL_OK;
}

batchai_coll_status ended(batchai_coll_status status, const std::string& sentence) {
    if (status == BATCHAI_COLL_OK || status == BATCHAI_COLL_IN_PROGRESS) return status;
    return fail(status, sentence);
}

}  // namespace

extern "C" {

batchai_coll_queue_options batchai_coll_queue_defaults(void) {
    const Dispatcher::Options defaults;
    return {defaults.fusion_bytes,
            std::chrono::duration<double>(defaults.cycle).count(),
            defaults.cache_capacity,
            0,
            60,
            nullptr};
}

batchai_coll_status batchai_coll_queue_open(batchai_coll_comm* comm,
                                            const batchai_coll_queue_options* options,
                                            batchai_coll_queue** queue) {
    return guarded([&] {
        constexpr const char* kName = "queue_open";
        if (comm == nullptr || queue == nullptr) return bad_argument(kName, "a null argument");
        *queue = nullptr;
        const auto chosen = options == nullptr ? batchai_coll_queue_defaults() : *options;
        if (auto good = check(chosen); !good) return bad_argument(kName, good.error());
        *queue = new batchai_coll_queue(*comm->communicator, chosen);
        return BATCHAI_COLL_OK;
    });
}

batchai_coll_status batchai_coll_queue_close(batchai_coll_queue* queue) {
    return guarded([&] {
        if (queue == nullptr) return bad_argument("queue_close", "a null argument");
        const Failure failure = queue->queue.close();
        return ended(failure.status, failure.sentence);
    });
}

void batchai_coll_queue_free(batchai_coll_queue* queue) {
    // A thread that has not stopped still uses the queue.
    if (queue != nullptr && queue->queue.halt()) delete queue;
}

batchai_coll_status batchai_coll_submit_allreduce(batchai_coll_queue* queue, const char* name,
                                                  const char* details,
                                                  const batchai_coll_tensor* tensors,
                                                  size_t tensor_count, batchai_coll_op op,
                                                  const batchai_coll_scaling* scaling, int priority,
                                                  batchai_coll_ticket** ticket) {
    return guarded([&] {
        constexpr const char* kName = "submit_allreduce";
        if (queue == nullptr || ticket == nullptr) return bad_argument(kName, "a null argument");
        Order order{.name = view(name), .text = view(details), .priority = priority};
        const auto parts = parts_of(tensors, tensor_count, op, scaling);
        if (!parts) return bad_argument(kName, parts.error());
        order.parts = *parts;
        return submit(kName, queue, order, ticket);
    });
}

batchai_coll_status batchai_coll_submit_device_allreduce(batchai_coll_queue* queue,
                                                         const char* name, const char* details,
                                                         const batchai_coll_tensor* tensors,
                                                         size_t tensor_count, batchai_coll_op op,
                                                         const batchai_coll_scaling* scaling,
                                                         int priority, int number, void* stream,
                                                         batchai_coll_ticket** ticket) {
    return guarded([&] {
        constexpr const char* kName = "submit_device_allreduce";
        if (queue == nullptr || ticket == nullptr) return bad_argument(kName, "a null argument");
        Order order{.name = view(name), .text = view(details), .priority = priority};
        order.stream = static_cast<Device::Stream>(stream);
        const auto parts = parts_of(tensors, tensor_count, op, scaling);
        if (!parts) return bad_argument(kName, parts.error());
        order.parts = *parts;
        const auto device = queue->devices.device(number);
        if (!device) return bad_argument(kName, device.error());
        auto good = check(**device, order.parts, order.stream);
        if (!good) return bad_argument(kName, good.error());
        const auto mark = queue->devices.mark(order.stream);
        if (!mark) return fail(BATCHAI_COLL_ERR_SYSTEM, mark.error().in(kName).message);
        order.mark = *mark;
        const auto status = submit(kName, queue, order, ticket);
        if (status != BATCHAI_COLL_OK) queue->devices.unmark(*mark);
        return status;
    });
}

batchai_coll_status batchai_coll_queue_open_gpu(batchai_coll_queue* queue, int number) {
    return guarded([&] {
        constexpr const char* kName = "queue_open_gpu";
        if (queue == nullptr) return bad_argument(kName, "a null argument");
        const auto device = queue->devices.device(number);
        return device ? BATCHAI_COLL_OK : bad_argument(kName, device.error());
    });
}

batchai_coll_status batchai_coll_submit_call(batchai_coll_queue* queue, const char* name,
                                             const char* details, int (*run)(void* argument),
                                             void* argument, int priority,
                                             batchai_coll_ticket** ticket) {
    return guarded([&] {
        constexpr const char* kName = "submit_call";
        if (queue == nullptr || ticket == nullptr || run == nullptr) {
            return bad_argument(kName, "a null argument");
        }
        return submit(kName, queue,
                      {.name = view(name),
                       .text = view(details),
                       .run = run,
                       .argument = argument,
                       .priority = priority},
                      ticket);
    });
}

batchai_coll_status batchai_coll_submit_join(batchai_coll_queue* queue, int* last,
                                             batchai_coll_ticket** ticket) {
    return guarded([&] {
        constexpr const char* kName = "submit_join";
        if (queue == nullptr || ticket == nullptr || last == nullptr) {
            return bad_argument(kName, "a null argument");
        }
        return submit(kName, queue,
                      {.name = "join",
                       .text = "join",
                       .run = [](void*) { return 0; },
                       .argument = last,
                       .join = true},
                      ticket);
    });
}

batchai_coll_status batchai_coll_ticket_test(batchai_coll_queue* queue,
                                             batchai_coll_ticket* ticket) {
    return guarded([&] {
        if (queue == nullptr || ticket == nullptr) {
            return bad_argument("ticket_test", "a null argument");
        }
        std::string sentence;
        return ended(queue->queue.test(submission_of(ticket), sentence), sentence);
    });
}

batchai_coll_status batchai_coll_ticket_wait(batchai_coll_queue* queue,
                                             batchai_coll_ticket* ticket) {
    return guarded([&] {
        if (queue == nullptr || ticket == nullptr) {
            return bad_argument("ticket_wait", "a null argument");
        }
        std::string sentence;
        return ended(queue->queue.wait(submission_of(ticket), sentence), sentence);
    });
}

batchai_coll_status batchai_coll_queue_timeline(batchai_coll_queue* queue, const char* path,
                                                int mark_cycles) {
    return guarded([&] {
        if (queue == nullptr) return bad_argument("queue_timeline", "a null argument");
        const auto done = queue->queue.trace(path == nullptr ? "" : path, mark_cycles != 0);
        if (!done) return fail(BATCHAI_COLL_ERR_SYSTEM, done.error().message);
        return BATCHAI_COLL_OK;
    });
}

}  // extern "C"

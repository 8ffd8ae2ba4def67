// SPDX-License-Identifier: Apache-2.0
//
// Device: a processor with its own memory that executes streams of orders: copies, reductions and
// events. A call gives an order and returns. The device executes the order later, after all earlier
// orders of the stream. Orders of different streams run at any time, also at once, except that an
// order may wait for an event of another stream. Only the destructor waits for the device.
//
// CudaDevice (cuda.hpp) implements it. Tests of code that gives orders have an implementation in
// host memory, which executes its streams late and in a random order.
//
// One thread at a time may use a device. The exceptions are make_event, record, wait, holds and
// is_captured, which any thread may call at any time.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "batchai/collectives.h"
#include "sys/result.hpp"

namespace batchai::coll {

class Device {
  public:
    using Stream = struct DeviceStream*;  // a cudaStream_t
    using Event = struct DeviceEvent*;    // a cudaEvent_t
    // Identifies memory to other processes of this node.
    struct Handle {
        std::array<std::byte, 64> bytes;
    };

    // to[i] = (op over k of (from[k][i] * before)) / divisor * after, in the order of k.
    // 16-bit numbers are computed as float32 and rounded once. For integers, before and after are
    // 1, and the division truncates. `to` may be one of `from`, but must not overlap them
    // otherwise. All pointers are aligned to the type's size; alignment to 16 bytes is fastest.
    // (The kernels of reduce/ have a Reduction of their own.)
    struct Reduction {
        static constexpr std::size_t kSources = 16;

        std::array<const std::byte*, kSources> from{};
        std::size_t sources = 1;
        std::byte* to = nullptr;
        std::size_t count = 0;
        batchai_coll_type type = BATCHAI_COLL_FLOAT32;
        batchai_coll_op op = BATCHAI_COLL_SUM;  // not average, which is a sum with a divisor
        double before = 1, after = 1;
        int divisor = 1;

        // A reduction of one source, which is only scaled. The caller sets the factors in the
        // result.
        static Reduction of_one(const std::byte* from, std::byte* to, std::size_t count,
                                batchai_coll_type type) {
            Reduction reduction;
            reduction.from[0] = from;
            reduction.to = to;
            reduction.count = count;
            reduction.type = type;
            return reduction;
        }
    };

    // Several copies in one call.
    struct Copies {
        static constexpr std::size_t kMost = 128;

        std::array<const std::byte*, kMost> from;
        std::array<std::byte*, kMost> to;
        std::array<std::size_t, kMost> bytes;
        std::size_t count = 0;

        void add(std::byte* into, const std::byte* out_of, std::size_t how_many) {
            to[count] = into;
            from[count] = out_of;
            bytes[count++] = how_many;
        }
    };

    Device() = default;
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    // Waits for all orders. Everything that the device has made is destroyed with it.
    virtual ~Device() = default;

    // Call these in init only: they may wait for the device.
    virtual sys::Result<std::byte*> allocate(std::size_t bytes) = 0;
    // Pinned host memory, which the device can read and write.
    virtual sys::Result<std::byte*> allocate_pinned(std::size_t bytes) = 0;
    virtual sys::Result<Stream> make_stream() = 0;
    virtual sys::Result<Event> make_event() = 0;
    // share(): a handle for memory from allocate(). open(): maps memory of another process by its
    // handle, until the device's end. An error: this device cannot access the other one's memory.
    virtual sys::Result<Handle> share(const std::byte* memory) = 0;
    virtual sys::Result<std::byte*> open(const Handle& handle) = 0;
    // Waits for all orders and unmaps the memory that open() has returned. All ranks must close
    // before the first device ends: CUDA memory must not be freed while another process maps it.
    virtual void close() = 0;

    // Orders. `to` and `from` are each in device memory, pinned memory or opened memory.
    virtual sys::Result<void> copy(std::byte* to, const std::byte* from, std::size_t bytes,
                                   Stream stream) = 0;
    // Fast if both are in the device's own memory. The copies have any size and do not overlap.
    virtual sys::Result<void> copy_all(const Copies& copies, Stream stream);
    virtual sys::Result<void> reduce(const Reduction& reduction, Stream stream) = 0;
    virtual sys::Result<void> record(Event event, Stream stream) = 0;
    // Makes orders in the stream from here on wait for the orders before the last record() of the
    // event.
    virtual sys::Result<void> wait(Stream stream, Event event) = 0;

    // Whether the recorded orders are done; true for an event that was never recorded.
    virtual sys::Result<bool> query(Event event) = 0;
    // Whether the memory is the device's, not the host's.
    virtual bool holds(const void* memory) const = 0;
    // Whether orders in the stream are captured into a CUDA graph instead of executed.
    virtual sys::Result<bool> is_captured(Stream stream) = 0;
    // "NVIDIA H200 (GPU 0)".
    virtual const char* name() const = 0;
    // Equal for two processes, on any nodes, exactly if they have the same device.
    virtual std::string identity() const = 0;

    // Checks that a caller's buffer is in the device's memory, and aligned to numbers of the type.
    sys::Result<void> check_buffer(const std::byte* memory, batchai_coll_type type) const;
    // Checks that a caller's stream accepts orders now.
    sys::Result<void> check_stream(Stream stream);

    // Makes several streams and events. Returns the first error.
    sys::Result<void> make(const std::vector<Stream*>& streams, const std::vector<Event*>& events);

  protected:
    // Checks the conditions of Reduction.
    static sys::Result<void> check(const Reduction& reduction);
};

}  // namespace batchai::coll

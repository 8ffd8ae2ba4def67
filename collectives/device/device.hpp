// SPDX-License-Identifier: Apache-2.0
//
// Device: a processor with memory of its own that works through streams of orders: copies,
// reductions, events. An order is given at once and done later, after all earlier ones of its
// stream; orders of different streams are done at any time and at once, but where one waits for an
// event of the other. Nothing here waits for the device but its destruction.
//
// Two of them: CudaDevice (cuda.hpp) and, for tests of everything that gives orders, HostDevice
// (host.hpp), whose memory is the host's, and whose streams are done late and in a random order.
// One thread at a time, but for make_event, record, wait, holds and is_captured: any
// thread, while another one works.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "batchai/collectives.h"
#include "collectives/common/memory.hpp"
#include "sys/result.hpp"

namespace batchai::coll {

class Device {
  public:
    using Stream = struct DeviceStream*;  // a cudaStream_t
    using Event = struct DeviceEvent*;    // a cudaEvent_t
    // Of memory, for other processes of this node.
    struct Handle {
        std::array<std::byte, 64> bytes;
    };

    // to[i] = (op over k of (from[k][i] * before)) / divisor * after, in the order of k or as a
    // tree; numbers of 16 bits as float32, rounded once; integers as they are, with before and
    // after 1, and the division truncates. `to` may be one of `from`, but overlaps none otherwise.
    // All pointers are aligned to the type's size; to 16 bytes, it is fastest. (The kernels of
    // reduce/ have a Reduction of their own.)
    struct Reduction {
        static constexpr std::size_t kSources = 16;

        std::array<const std::byte*, kSources> from{};
        std::size_t sources = 1;
        std::byte* to = nullptr;
        std::size_t count = 0;
        batchai_coll_type type = BATCHAI_COLL_FLOAT32;
        batchai_coll_op op = BATCHAI_COLL_SUM;  // not average: that is a sum with a divisor
        double before = 1, after = 1;
        int divisor = 1;
        bool tree = false;  // combined as nodes are (reduce/tree.hpp), not one after another

        // Of one source: numbers that are only changed, by what is set in it then.
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

    // Copies at once.
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
    // Waits for all orders; all that it has made ends with it.
    virtual ~Device() = default;

    // In init only: they may wait for the device.
    virtual sys::Result<std::byte*> allocate(std::size_t bytes) = 0;
    // Host memory that it reads and writes by itself.
    virtual sys::Result<std::byte*> allocate_pinned(std::size_t bytes) = 0;
    virtual sys::Result<Stream> make_stream() = 0;
    virtual sys::Result<Event> make_event() = 0;
    // What allocate() has returned, and the same memory, of another process, until the device's
    // end. Of a device that this one cannot reach: an error.
    virtual sys::Result<Handle> share(const std::byte* memory) = 0;
    virtual sys::Result<std::byte*> open(const Handle& handle) = 0;
    // Waits for all orders and gives up what open() has returned. The devices of all ranks are to
    // close before the first of them ends: CUDA's memory is not to go while another process has it.
    virtual void close() = 0;

    // Orders. `to` and `from` are each on the device, in pinned memory, or opened.
    virtual sys::Result<void> copy(std::byte* to, const std::byte* from, std::size_t bytes,
                                   Stream stream) = 0;
    // Fast where both are the device's own memory, of any size, which does not overlap.
    virtual sys::Result<void> copy_all(const Copies& copies, Stream stream);
    virtual sys::Result<void> reduce(const Reduction& reduction, Stream stream) = 0;
    virtual sys::Result<void> record(Event event, Stream stream) = 0;
    // What is ordered in the stream from here on comes after what the event was last recorded
    // after.
    virtual sys::Result<void> wait(Stream stream, Event event) = 0;

    // Whether that has been done; of an event that was never recorded, true.
    virtual sys::Result<bool> query(Event event) = 0;
    // Whether memory is the device's: not where the host keeps its own.
    virtual bool holds(const void* memory) const = 0;
    // Whether orders in the stream are being kept for later instead of done (a CUDA graph).
    virtual sys::Result<bool> is_captured(Stream stream) = 0;
    // The graph into which the stream is captured has the token from now on, and whatever is made
    // of the graph, too, as long as there is any of them.
    virtual sys::Result<void> keep(Stream captured, std::shared_ptr<void> token) = 0;
    // What it keeps its memory in, as a wire would have to carry it.
    virtual Memory memory() const = 0;
    // While this lives, one at a time, the device is this thread's own for other libraries that are
    // given its memory.
    class Entered {
      public:
        explicit Entered(Device& device) : device_(device) { device_.enter(); }
        Entered(const Entered&) = delete;
        Entered& operator=(const Entered&) = delete;
        ~Entered() { device_.leave(); }

      private:
        Device& device_;
    };
    // "NVIDIA H200 (GPU 0)".
    virtual const char* name() const = 0;
    // The same for two processes, of any nodes, exactly if the device is.
    virtual std::string identity() const = 0;

    // Whether a caller's buffer is in the device's memory, and aligned to numbers of the type.
    sys::Result<void> check_buffer(const std::byte* memory, batchai_coll_type type) const;
    // Whether a caller's stream takes orders now.
    sys::Result<void> check_stream(Stream stream);

    // Several at once; what fails first.
    sys::Result<void> make(const std::vector<Stream*>& streams, const std::vector<Event*>& events);

  protected:
    virtual void enter() {}
    virtual void leave() {}
    // Whether it is one that the above allows.
    static sys::Result<void> check(const Reduction& reduction);
};

}  // namespace batchai::coll

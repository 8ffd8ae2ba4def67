// SPDX-License-Identifier: Apache-2.0
//
// HostDevice: a Device without one, for tests of what gives orders to one. Its memory is the
// host's, shared like the segment of transport/shm.hpp. An order is done no sooner than in a
// query() or at the end: each query does some, perhaps none, one after another, each time the next
// one of a stream that is chosen at random among those whose next one may be done. So what forgets
// an event finds wrong data with some seed; what polls an event sees it come, as no more than a few
// queries in a row do nothing. Memory begins as a pattern, not as zeros.
//
// Stricter than a GPU: an order about memory that is not the device's is an error. It needs no
// device, so it says nothing about how fast anything is.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "collectives/device/device.hpp"
#include "collectives/transport/shm.hpp"

namespace batchai::coll {

class HostDevice : public Device {
  public:
    // seed: of the order in which streams are done.
    explicit HostDevice(std::uint64_t seed);
    ~HostDevice() override;

    sys::Result<std::byte*> allocate(std::size_t bytes) override;
    sys::Result<std::byte*> allocate_pinned(std::size_t bytes) override;
    sys::Result<Stream> make_stream() override;
    sys::Result<Event> make_event() override;
    sys::Result<Handle> share(const std::byte* memory) override;
    sys::Result<std::byte*> open(const Handle& handle) override;
    void close() override;

    sys::Result<void> copy(std::byte* to, const std::byte* from, std::size_t bytes,
                           Stream stream) override;
    sys::Result<void> reduce(const Reduction& reduction, Stream stream) override;
    sys::Result<void> record(Event event, Stream stream) override;
    sys::Result<void> wait(Stream stream, Event event) override;
    sys::Result<bool> query(Event event) override;
    bool holds(const void* memory) const override;
    sys::Result<bool> is_captured(Stream) override { return false; }
    sys::Result<void> keep(Stream, std::shared_ptr<void>) override {
        return sys::Error{"the host has no graphs"};
    }
    Memory memory() const override { return Memory::host; }
    const char* name() const override { return name_.c_str(); }
    std::string identity() const override;

  private:
    enum class Kind { own, pinned, opened };
    struct Mapped {
        Segment segment;
        Kind kind;
        bool contains(const void* at, std::size_t bytes) const;
    };

    sys::Result<std::byte*> add(sys::Result<Segment> segment, Kind kind);
    // An error where the device does not reach all of it.
    sys::Result<void> reaches(const void* memory, std::size_t bytes) const;
    // Does an order, of any stream. Whether there was one.
    bool step();

    const std::string name_;
    mutable std::mutex lock_;  // of all that follows
    std::mt19937_64 random_;
    int idle_ = 0;  // queries in a row that have done nothing
    std::vector<Mapped> memory_;
    std::vector<std::unique_ptr<DeviceStream>> streams_;
    std::vector<std::unique_ptr<DeviceEvent>> events_;
};

}  // namespace batchai::coll

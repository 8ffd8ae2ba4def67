// SPDX-License-Identifier: Apache-2.0
//
// HostDevice: a Device in host memory, for tests of code that gives orders. Processes share its
// memory like the segment of transport/shm.hpp. Only query() and the destructor execute orders.
// Each query executes some orders or none: each time the next order of a random stream among those
// that need not wait. So with some seed, code that forgets an event finds wrong data. At most a few
// queries in a row do nothing, so code that polls an event sees it. Memory starts with a pattern,
// not with zeros.
//
// It is stricter than a GPU: an order on memory that is not the device's is an error. It does not
// measure speed.
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
    // seed: for the random order of streams.
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
    // An error: the device cannot access all of the memory.
    sys::Result<void> reaches(const void* memory, std::size_t bytes) const;
    // Executes one order, of any stream. False: there was none.
    bool step();

    const std::string name_;
    mutable std::mutex lock_;  // guards the members below
    std::mt19937_64 random_;
    int idle_ = 0;  // consecutive queries that have done nothing
    std::vector<Mapped> memory_;
    std::vector<std::unique_ptr<DeviceStream>> streams_;
    std::vector<std::unique_ptr<DeviceEvent>> events_;
};

}  // namespace batchai::coll

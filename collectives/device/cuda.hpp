// SPDX-License-Identifier: Apache-2.0
//
// CudaDevice: an NVIDIA GPU, used through the CUDA runtime. Only create() needs a GPU and a driver:
// without them, it returns an error that says so.
//
// Calls use this device, whichever device is current on the calling thread, and restore that one.
// An order may return the error of an earlier order, as everywhere in CUDA. Streams do not wait for
// the legacy default stream: order the caller's work by an event. Memory of cudaMallocAsync's pools
// and of virtual memory management can be copied and reduced, but not shared.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "collectives/device/context.hpp"
#include "collectives/device/device.hpp"

namespace batchai::coll {

class CudaDevice final : public Device {
  public:
    // "13.0": the version of the runtime in this library.
    static std::string version();
    // number: as cudaSetDevice counts them in this process.
    static sys::Result<std::shared_ptr<Device>> create(int number);
    ~CudaDevice() override;

    sys::Result<std::byte*> allocate(std::size_t bytes) override;
    sys::Result<std::byte*> allocate_pinned(std::size_t bytes) override;
    sys::Result<Stream> make_stream() override;
    sys::Result<Event> make_event() override;
    sys::Result<Handle> share(const std::byte* memory) override;
    sys::Result<std::byte*> open(const Handle& handle) override;
    void close() override;

    sys::Result<void> copy(std::byte* to, const std::byte* from, std::size_t bytes,
                           Stream stream) override;
    sys::Result<void> copy_all(const Copies& copies, Stream stream) override;
    sys::Result<void> reduce(const Reduction& reduction, Stream stream) override;
    sys::Result<void> record(Event event, Stream stream) override;
    sys::Result<void> wait(Stream stream, Event event) override;
    sys::Result<bool> query(Event event) override;
    bool holds(const void* memory) const override;
    sys::Result<bool> is_captured(Stream stream) override;
    const char* name() const override { return name_.c_str(); }
    std::string identity() const override { return identity_; }

  private:
    CudaDevice(int number, CudaContext context, std::string name, std::string identity, int blocks)
        : number_(number),
          context_(std::move(context)),
          name_(std::move(name)),
          identity_(std::move(identity)),
          blocks_(blocks) {}

    int number_;
    CudaContext context_;
    std::string name_, identity_;
    int blocks_;  // thread blocks of a reduction
    std::vector<std::byte*> memory_, pinned_, opened_;
    std::vector<Stream> streams_;
    std::mutex events_lock_;  // guards the members below
    std::vector<Event> events_;
};

}  // namespace batchai::coll

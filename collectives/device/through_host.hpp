// SPDX-License-Identifier: Apache-2.0
//
// ThroughHost: the allreduce of device memory through the host. For each chunk, the device copies
// this rank's data to pinned memory, the host's engine reduces it, and the device copies the result
// back. Several chunks are in progress, so that both directions of PCIe and the engine are busy at
// once.
//
// Cost for S bytes: the larger of S / Bp and the engine's time, plus the other / chunks. Bp: PCIe's
// bandwidth in one direction while both are busy.
#pragma once

#include <memory>

#include "collectives/comm/engine.hpp"
#include "collectives/device/device_operation.hpp"
#include "collectives/device/orders.hpp"

namespace batchai::coll {

class ThroughHost final : public DeviceOperation {
  public:
    // engine: of all ranks, used by this object only. The arguments remain the caller's.
    static sys::Result<std::unique_ptr<ThroughHost>> create(Device& device, Orders& orders,
                                                            Engine& engine,
                                                            std::size_t chunk_bytes);

    void begin(const DeviceCall& call) override;
    Step step() override;
    std::string name() const override { return "through the host"; }

  private:
    static constexpr std::size_t kSlots = 4;

    // A chunk's place in pinned memory, used again after kSlots chunks.
    struct Slot {
        std::byte* pinned = nullptr;
        Device::Event out = nullptr, in = nullptr;
        Engine::Request* request = nullptr;
    };

    ThroughHost(Orders& orders, Engine& engine, std::size_t chunk_bytes)
        : orders_(orders), engine_(engine), chunk_bytes_(chunk_bytes) {}

    Slot& slot(std::uint64_t chunk) { return slots_[(first_ + chunk) % kSlots]; }
    // The numbers of chunk k, and its bytes in the call's buffers.
    Range numbers(std::uint64_t k) const { return chunk_of(call_.count(), per_chunk_, k); }
    Range bytes(std::uint64_t k) const {
        const std::size_t element = type_size(call_.type());
        return {numbers(k).begin * element, numbers(k).end * element};
    }

    bool take_out();
    bool start();
    bool bring_in();

    Orders& orders_;
    Engine& engine_;
    std::size_t chunk_bytes_;
    Slot slots_[kSlots];
    Device::Stream out_ = nullptr, in_ = nullptr;
    Device::Event started_ = nullptr, ended_ = nullptr;

    DeviceCall call_;
    std::size_t per_chunk_ = 1;  // numbers
    std::uint64_t first_ = 0;    // this call's first chunk, counted over all calls
    std::uint64_t chunks_ = 0, taken_ = 0, begun_ = 0, brought_ = 0;
};

}  // namespace batchai::coll

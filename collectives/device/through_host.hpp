// SPDX-License-Identifier: Apache-2.0
//
// ThroughHost: any collective operation on device memory: chunk by chunk, the device copies what
// this rank gives to pinned memory, the host's engine does the operation, and the device copies
// what comes of it back. Some chunks are under way, so that both directions of PCIe and the engine
// are busy together.
//
// A chunk of blocks, of which the ranks give or get one each, is the same piece of every block.
//
// Cost for S bytes given and R bytes got, Bp being what PCIe carries one way while it carries as
// much the other way: max(S / Bp, R / Bp, what the engine takes) + (the others) / chunks.
#pragma once

#include <memory>
#include <vector>

#include "collectives/device/device_operation.hpp"
#include "collectives/device/orders.hpp"
#include "collectives/engine.hpp"

namespace batchai::coll {

class ThroughHost final : public DeviceOperation {
  public:
    // engine: of all ranks, and of nobody else's. All of it stays the caller's.
    static sys::Result<std::unique_ptr<ThroughHost>> create(Device& device, Orders& orders,
                                                            Engine& engine, int rank, int ranks,
                                                            std::size_t chunk_bytes);

    void begin(const DeviceCall& call) override;
    Step step() override;
    std::string name() const override { return "through the host"; }

  private:
    static constexpr std::size_t kSlots = 4;

    // A chunk's place in pinned memory. Used again after kSlots chunks.
    struct Slot {
        std::byte* pinned = nullptr;
        Device::Event out = nullptr, in = nullptr;
        Engine::Request* request = nullptr;
    };

    ThroughHost(Orders& orders, Engine& engine, int rank, int ranks, std::size_t chunk_bytes)
        : orders_(orders),
          engine_(engine),
          rank_(rank),
          ranks_(static_cast<std::size_t>(ranks)),
          chunk_bytes_(chunk_bytes) {}

    Slot& slot(std::uint64_t chunk) { return slots_[(first_ + chunk) % kSlots]; }
    Range chunk(std::uint64_t k) const { return chunk_of(call_.count, per_chunk_, k); }
    // Where the operation's result is, of what begins at `pinned`.
    std::byte* result(std::byte* pinned) const {
        return apart_ ? pinned + chunk_bytes_ / 2 : pinned;
    }
    bool take_out();
    bool start();
    bool bring_in();
    Call operation(std::uint64_t k);

    Orders& orders_;
    Engine& engine_;
    int rank_;
    std::size_t ranks_, chunk_bytes_;
    Slot slots_[kSlots];
    Device::Stream out_ = nullptr, in_ = nullptr;
    Device::Event started_ = nullptr, ended_ = nullptr;

    DeviceCall call_;
    std::size_t gives_ = 1, gets_ = 1;  // blocks; 0: nothing
    bool apart_ = false;                // what is given and what is got have places of their own
    std::size_t per_chunk_ = 1;         // numbers of a block
    std::uint64_t first_ = 0;           // chunk of this call, of all
    std::uint64_t chunks_ = 0, taken_ = 0, begun_ = 0, brought_ = 0;
};

}  // namespace batchai::coll

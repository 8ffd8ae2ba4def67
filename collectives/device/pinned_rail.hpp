// SPDX-License-Identifier: Apache-2.0
//
// PinnedRail: a RailExchange through pinned host memory. Each part is copied there, combined by the
// host's allreduce, and copied back. These three stages of different parts overlap.
//
// Cost for m bytes on N nodes: the larger of m / Bp and 2 (N-1)/N m / Be. Bp: PCIe's bandwidth in
// one direction while both are busy. Be: bandwidth of the algorithm that the wire's engine uses.
#pragma once

#include <memory>

#include "collectives/comm/engine.hpp"
#include "collectives/device/rail_exchange.hpp"

namespace batchai::coll {

class PinnedRail final : public RailExchange {
  public:
    // wire: the engine of the ranks that combine their parts. The arguments remain the caller's.
    static sys::Result<std::unique_ptr<PinnedRail>> create(Device& device, Orders& orders,
                                                           Engine& wire, std::size_t part_bytes);

    void take(const Part& part, Device::Stream stream) override;
    bool step() override;
    Device::Event back(std::uint64_t k) const override { return slots_[k % kSlots].in; }
    const char* name() const override { return "pinned memory"; }

  private:
    struct Slot {
        Part part;
        std::byte* pinned = nullptr;
        Device::Event ready = nullptr, out = nullptr, in = nullptr;
        Engine::Request* request = nullptr;
    };

    PinnedRail(Orders& orders, Engine& wire) : orders_(orders), wire_(wire) {}
    Slot& slot(std::uint64_t k) { return slots_[k % kSlots]; }
    bool send_next();
    bool receive_next();
    void bring_in(Slot& slot);

    Orders& orders_;
    Engine& wire_;
    Slot slots_[kSlots];
    Device::Stream out_ = nullptr, in_ = nullptr;
    std::uint64_t taken_ = 0, sent_ = 0;  // parts
};

}  // namespace batchai::coll
